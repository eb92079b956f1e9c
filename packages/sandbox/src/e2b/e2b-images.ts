import { invalidOption } from '../invalid-option.ts'
import type { SandboxResources } from '../sandbox-types.ts'

/** How a gateway hears of the image of a boot. */
export type E2bImages =
  /** Not at all: the template is all there is. */
  | { readonly kind: 'none' }
  /** The image is the name of a template. */
  | { readonly kind: 'template' }
  /** As the value of a metadata key, as private gateways do. */
  | { readonly kind: 'metadata-key'; readonly key: string }
  /** As Tencent AGS does: metadata `x-custom-config` with JSON, in which resources go along. */
  | ({ readonly kind: 'custom-config' } & CustomConfig)

/** The parts of an AGS custom configuration that don't come from a boot. */
export interface CustomConfig {
  /** Default `enterprise`. */
  readonly imageRegistryType?: 'enterprise' | 'personal'
  /** What starts envd in an image that does not start it by itself. */
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** How long the image may take until envd answers. Default 60,000. */
  readonly readyTimeoutMs?: number
}

const envdPort = 49_983

/** The template and the metadata of a boot. Throws `sandbox_invalid_option`. */
export function imageRequest(
  images: E2bImages,
  template: string,
  image: string | undefined,
  resources: SandboxResources,
): { readonly template: string; readonly metadata: Readonly<Record<string, string>> } {
  if (image === undefined) {
    const isIgnored = Object.keys(resources).length > 0
    if (isIgnored) throw invalidOption('The e2b driver can limit resources only of a boot that names an image')
    return { template, metadata: {} }
  }
  switch (images.kind) {
    case 'template':
      return { template: image, metadata: {} }
    case 'metadata-key':
      return { template, metadata: { [images.key]: image } }
    case 'custom-config':
      return { template, metadata: { 'x-custom-config': JSON.stringify(customConfig(images, image, resources)) } }
    default:
      throw invalidOption(`The e2b driver was not told how its gateway hears of images; found image "${image}"`)
  }
}

function customConfig(
  config: CustomConfig,
  image: string,
  { cpus, memoryBytes, maxProcesses }: SandboxResources,
): object {
  if (maxProcesses !== undefined) throw invalidOption('The e2b driver can not limit the number of processes')
  const { imageRegistryType = 'enterprise', command, args, env = {}, readyTimeoutMs = 60_000 } = config
  const resources = {
    ...(cpus === undefined ? {} : { cpu: `${cpus}` }),
    ...(memoryBytes === undefined ? {} : { memory: `${Math.ceil(memoryBytes / 2 ** 20)}Mi` }),
  }
  return {
    image,
    imageRegistryType,
    ...(command === undefined ? {} : { command }),
    ...(args === undefined ? {} : { args }),
    ...(Object.keys(env).length === 0 ? {} : { env: Object.entries(env).map(([name, value]) => ({ name, value })) }),
    ports: [{ name: 'envd', port: envdPort, protocol: 'TCP' }],
    ...(Object.keys(resources).length === 0 ? {} : { resources }),
    probe: {
      httpGet: { path: '/health', port: envdPort, scheme: 'HTTP' },
      readyTimeoutMs,
      probeTimeoutMs: 1_000,
      probePeriodMs: 1_000,
      successThreshold: 1,
      failureThreshold: 100,
    },
  }
}
