/**
 * `datetime.now().strftime(format)` in the C locale, as glibc does it: local
 * time without a zone, so `%z` and `%Z` print nothing.
 */
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

const directive = /%([-_0^#]*)(\d*)[EO]?([a-zA-Z%])/g

export function formatTime(time: Date, format: string): string {
  return format.replace(directive, (whole, flags: string, width: string, letter: string) => {
    const field = fieldOf(time, letter)
    if (field === null) return whole
    if (typeof field === 'string') {
      const cased = flags.includes('^') ? field.toUpperCase() : field
      return cased.padStart(Number(width || 0), flags.includes('0') ? '0' : ' ')
    }
    return padNumber(field, flags, width)
  })
}

interface NumberField {
  readonly value: number
  readonly width: number
  readonly fill: '0' | ' '
}

function padNumber({ value, width, fill }: NumberField, flags: string, asked: string): string {
  if (flags.includes('-')) return String(value)
  const padding = flags.includes('_') ? ' ' : flags.includes('0') ? '0' : fill
  return String(value).padStart(Number(asked || width), padding)
}

const two = (value: number): NumberField => ({ value, width: 2, fill: '0' })

function fieldOf(time: Date, letter: string): string | NumberField | null {
  const hour12 = time.getHours() % 12 || 12
  switch (letter) {
    case '%':
      return '%'
    case 'a':
      return (days[time.getDay()] ?? '').slice(0, 3)
    case 'A':
      return days[time.getDay()] ?? ''
    case 'b':
    case 'h':
      return (months[time.getMonth()] ?? '').slice(0, 3)
    case 'B':
      return months[time.getMonth()] ?? ''
    case 'c':
      return formatTime(time, '%a %b %e %H:%M:%S %Y')
    case 'C':
      return two(Math.floor(time.getFullYear() / 100))
    case 'd':
      return two(time.getDate())
    case 'D':
    case 'x':
      return formatTime(time, '%m/%d/%y')
    case 'e':
      return { value: time.getDate(), width: 2, fill: ' ' }
    case 'f':
      return { value: time.getMilliseconds() * 1000, width: 6, fill: '0' }
    case 'F':
      return formatTime(time, '%Y-%m-%d')
    case 'g':
      return two(isoWeek(time).year % 100)
    case 'G':
      return { value: isoWeek(time).year, width: 4, fill: '0' }
    case 'H':
      return two(time.getHours())
    case 'I':
      return two(hour12)
    case 'j':
      return { value: dayOfYear(time) + 1, width: 3, fill: '0' }
    case 'k':
      return { value: time.getHours(), width: 2, fill: ' ' }
    case 'l':
      return { value: hour12, width: 2, fill: ' ' }
    case 'm':
      return two(time.getMonth() + 1)
    case 'M':
      return two(time.getMinutes())
    case 'n':
      return '\n'
    case 'p':
      return time.getHours() < 12 ? 'AM' : 'PM'
    case 'P':
      return time.getHours() < 12 ? 'am' : 'pm'
    case 'r':
      return formatTime(time, '%I:%M:%S %p')
    case 'R':
      return formatTime(time, '%H:%M')
    case 's':
      return String(Math.floor(time.getTime() / 1000))
    case 'S':
      return two(time.getSeconds())
    case 't':
      return '\t'
    case 'T':
    case 'X':
      return formatTime(time, '%H:%M:%S')
    case 'u':
      return String(time.getDay() || 7)
    case 'U':
      return two(Math.floor((dayOfYear(time) + 7 - time.getDay()) / 7))
    case 'V':
      return two(isoWeek(time).week)
    case 'w':
      return String(time.getDay())
    case 'W':
      return two(Math.floor((dayOfYear(time) + 7 - ((time.getDay() + 6) % 7)) / 7))
    case 'y':
      return two(time.getFullYear() % 100)
    case 'Y':
      return { value: time.getFullYear(), width: 1, fill: '0' }
    case 'z':
    case 'Z':
      return ''
    default:
      return null
  }
}

/** Days since the first of January. */
function dayOfYear(time: Date): number {
  const start = Date.UTC(time.getFullYear(), 0, 1)
  return Math.round((Date.UTC(time.getFullYear(), time.getMonth(), time.getDate()) - start) / 86_400_000)
}

/** ISO 8601: weeks start on Monday, the first one holds the year's first Thursday. */
function isoWeek(time: Date): { year: number; week: number } {
  const thursday = new Date(Date.UTC(time.getFullYear(), time.getMonth(), time.getDate()))
  thursday.setUTCDate(thursday.getUTCDate() + 4 - (thursday.getUTCDay() || 7))
  const year = thursday.getUTCFullYear()
  return { year, week: Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / 604_800_000) + 1 }
}
