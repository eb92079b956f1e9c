export { type Adapter, type AdapterOptions, createAdapter } from './server.ts'
export { Session } from './session.ts'
export { neutralSampling, type SessionOptions } from './session-options.ts'
export { type FinishedSession, SessionStore } from './session-store.ts'
