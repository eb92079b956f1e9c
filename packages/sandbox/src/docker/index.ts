export { type BuildDockerImageOptions, buildDockerImage } from './build-docker-image.ts'
export type { DockerConnection } from './connect-docker.ts'
export { createDockerDriver, type DockerDriverOptions } from './docker-driver.ts'
