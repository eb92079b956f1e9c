import type { ContentPart } from '@agentrl/spec'

/**
 * Parts that are all text are one string, blocks on lines of their own: clients
 * change between the two shapes from turn to turn with the same text. Parts
 * with an image stay parts.
 */
export function joinText(parts: readonly ContentPart[]): string | readonly ContentPart[] {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  return texts.length === parts.length ? texts.join('\n') : parts
}
