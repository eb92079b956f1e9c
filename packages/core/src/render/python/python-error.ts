/**
 * An error that Python would raise at this point of a template, with Python's
 * name for it. It stays inside this folder: `ChatTemplate.render` turns it into
 * a `TrajectoryError` that names the line.
 */
export class PythonError extends Error {
  override readonly name = 'PythonError'
  /** The exception's class name, for example `TypeError` or `UndefinedError`. */
  readonly pythonType: string

  constructor(pythonType: string, message: string) {
    super(message)
    this.pythonType = pythonType
  }
}

export const typeError = (message: string): PythonError => new PythonError('TypeError', message)
export const valueError = (message: string): PythonError => new PythonError('ValueError', message)
export const indexError = (message: string): PythonError => new PythonError('IndexError', message)
export const keyError = (message: string): PythonError => new PythonError('KeyError', message)
export const overflowError = (message: string): PythonError => new PythonError('OverflowError', message)
export const zeroDivisionError = (message: string): PythonError => new PythonError('ZeroDivisionError', message)
/** A filter was called with arguments that it refuses. */
export const filterArgumentError = (message: string): PythonError => new PythonError('FilterArgumentError', message)
/** An error of Jinja's own runtime. */
export const templateRuntimeError = (message: string): PythonError => new PythonError('TemplateRuntimeError', message)
/** What Python can do and this interpreter deliberately does not. */
export const unsupported = (what: string): PythonError =>
  new PythonError('NotImplementedError', `${what} is not supported by this interpreter`)
