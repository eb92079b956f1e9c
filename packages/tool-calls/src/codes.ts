/**
 * What can be said about a model's output beside its calls, each under a
 * stable code: how a call was repaired, why a region could not be read as a
 * call, and what is worth knowing though nothing was changed.
 *
 * Codes are API: they are counted in reports and matched by filters.
 */

/** Every repair: the wire text broke its format, and was read all the same because only one reading exists. */
export const repairMeanings = {
  invalid_escape: 'a backslash that starts no JSON escape was doubled',
  control_character: 'a raw control character in a string was escaped',
  trailing_comma: 'a comma before a closing bracket was dropped',
  python_literal: 'True, False, None or another Python literal was read as JSON',
  single_quote: 'a single-quoted string was read as a string',
  unquoted_key: 'an identifier was read as a key',
  comment: 'a comment between tokens was dropped',
  fullwidth_punctuation: 'full-width or curly punctuation was read as JSON structure',
  unicode_space: 'white space that JSON does not know was dropped between tokens',
  literal_newline: 'a backslash and a letter between tokens were read as white space',
  missing_bracket: 'closing brackets were missing before an end marker',
  extra_bracket: 'closing brackets were left over before an end marker',
  fence: 'a code fence around the call was dropped',
  missing_fence: 'the code fence that the format puts around arguments is missing',
  unclosed_fence: 'a call that ends the output stands in a code fence that never closes',
  missing_start_tag: 'the marker that starts a call or a section is missing',
  missing_end_tag: 'the marker that ends a call or a section is missing, the call itself is complete',
  extra_end_tag: 'the marker that ends a call or a section was written again',
  missing_close_tag: 'a parameter ends at the next structural tag instead of at its own',
  bad_tag: 'a tag is misspelt, and names a declared tool or parameter',
  marker_variant: 'a marker is spelt as another version of the format spells it',
  cross_format: 'the call is written in the format of a sibling',
  bare_call: 'the whole reply is one call without its markers',
  leading_text: 'text precedes a call where the format has none',
  trailing_text: 'text follows a call where the format has none',
  several_calls: 'several calls share one pair of tags',
  wrapper: 'an object around the call was unwrapped',
  renamed_key: 'another key than the format names holds the name or the arguments',
  flattened_arguments: 'the arguments stand beside the name',
  double_encoded: 'a string that holds exactly one JSON value was decoded once',
  empty_arguments: 'no arguments were given to a tool that requires none',
  coerced_type: 'a value was written in another type than its schema says, and has one reading in it',
  tool_name: 'the name was trimmed, freed of a prefix, or matched by case',
  unclosed_reasoning: 'a call that ends the output ends reasoning that was never closed',
  duplicate_reasoning_end: 'a second end of reasoning was dropped',
  bad_header: 'a message header repeats or misplaces a part',
} as const

/** The name of a repair. */
export type RepairCode = keyof typeof repairMeanings

/** Every reason for which a region that meant to be a call is not one. */
export const illFormedMeanings = {
  truncated: 'the output ends inside the call',
  invalid_json: 'the text is not JSON, in a way that has no name of its own',
  too_deep: 'brackets are nested more than 512 deep',
  too_many_regions: 'more calls, or starts of calls that are none, than an output may have: no more are read',
  too_many_parameters: 'over 1,024 parameters in one call',
  unescaped_quote: 'a quote inside a string is not escaped, so where the string ends can not be known',
  ambiguous_quote: 'a single quote inside a single-quoted string is not escaped',
  ambiguous_escape: 'a string mixes invalid escapes with ones that are valid by accident',
  ambiguous_comment: 'a comment may hold part of the call',
  lone_surrogate: 'an escape names half of a surrogate pair',
  unquoted_value: 'a bare word stands where a value should',
  non_json_number: 'a number is not written as JSON writes numbers',
  missing_colon: 'a key is not followed by a colon',
  missing_comma: 'two values are not separated',
  missing_value: 'a key has no value',
  mismatched_bracket: 'brackets do not match, and where one is missing or left over is a guess',
  html_escaped_payload: 'the whole call is HTML-escaped',
  escaped_payload: 'the whole call is backslash-escaped',
  trailing_data: 'other text follows the call inside its tags',
  concatenated_arguments: 'several argument objects follow one name',
  conflicting_arguments: 'two keys hold different arguments',
  flattened_arguments: 'the name may be that of the tool or an argument',
  missing_arguments: 'no arguments were given to a tool that requires some',
  arguments_not_object: 'the arguments are not an object',
  missing_name: 'no name was given',
  empty_name: 'the name is empty',
  unknown_tool: 'no tool of that name is declared',
  bad_open_tag: 'a tag is misspelt so that its name or where its value starts is a guess',
  bad_close_tag: 'another tag closes a parameter, so that its value is a guess',
  missing_value_close: 'a value is not closed, so that its end is a guess',
  missing_close_tag: 'a parameter or a call is not closed',
  ambiguous_nesting: 'a complete call stands inside a value: quoted, or the value was cut',
  duplicate_parameter: 'a parameter is given twice',
  unexpected_text: 'text stands between the tags of a call',
  positional_argument: 'an argument has no name',
  invalid_python: 'the text is not a list of calls with literal arguments',
} as const

/** The name of a reason: one of its own, or the repair that `repair: 'off'` refused. */
export type IllFormedCode = keyof typeof illFormedMeanings | RepairCode

/** Everything worth knowing about a reading that changed nothing. */
export const warningMeanings = {
  duplicate_key: 'an object has a key twice; the last one counts, as everywhere',
  union_type: 'a schema allows both the text and what the text spells; the text was kept',
  unread_tags: 'a pair of call tags holds nothing that looks like a call, and stayed text',
  schema_unchecked: 'the arguments were too large for their schema to be checked in full',
} as const

/** The name of a warning. */
export type WarningCode = keyof typeof warningMeanings
