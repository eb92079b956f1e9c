import { runHarborToPrompts } from './run-harbor-to-prompts.ts'

process.exitCode = await runHarborToPrompts(process.argv.slice(2), {
  hostEnv: process.env,
  print: (text) => process.stdout.write(text),
  report: (text) => process.stderr.write(text),
})
