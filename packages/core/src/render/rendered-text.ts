import type { RenderedText } from './chat-template.ts'

/** The part `[charStart, charEnd)` of a rendered text, with the origin of its characters. Linear in the spans. */
export function sliceRendered({ text, valueSpans }: RenderedText, charStart: number, charEnd: number): RenderedText {
  const spans: number[] = []
  for (let index = 0; index < valueSpans.length; index += 2) {
    const start = Math.max(valueSpans[index] ?? 0, charStart)
    const end = Math.min(valueSpans[index + 1] ?? 0, charEnd)
    if (end > start) spans.push(start - charStart, end - charStart)
  }
  return { text: text.slice(charStart, charEnd), valueSpans: spans }
}

/** A text that the template wrote, and a rendered text behind it. */
export function prependTemplateText(before: string, { text, valueSpans }: RenderedText): RenderedText {
  return { text: before + text, valueSpans: valueSpans.map((offset) => offset + before.length) }
}
