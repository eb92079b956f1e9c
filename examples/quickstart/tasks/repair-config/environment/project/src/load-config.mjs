import { expandReferences } from './expand-references.mjs'
import { mergeSettings } from './merge-settings.mjs'
import { parseValue } from './parse-value.mjs'
import { readLines } from './read-lines.mjs'

/** Reads configuration texts, later ones over earlier ones. */
export function loadConfig(texts) {
  return expandReferences(texts.map(readSettings).reduce(mergeSettings, {}))
}

function readSettings(text) {
  const settings = {}
  for (const { section, key, raw } of readLines(text)) {
    let place = settings
    for (const name of section === '' ? [] : section.split('.')) {
      place[name] ??= {}
      place = place[name]
    }
    place[key] = parseValue(raw)
  }
  return settings
}
