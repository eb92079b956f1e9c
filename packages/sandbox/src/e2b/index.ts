export { createE2bDriver, type E2bDriverOptions } from './e2b-driver.ts'
export type { CustomConfig, E2bImages } from './e2b-images.ts'
