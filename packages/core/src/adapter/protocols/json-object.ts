import type { JsonObject } from '@agentrl/spec'
import { z } from 'zod'

/** A JSON object, passed on as it is: a copy would not know its source text (json-source.ts). */
export const jsonObject: z.ZodType<JsonObject> = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected an object',
)
