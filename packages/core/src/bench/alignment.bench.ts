import { loadTokenizerDirectory } from '../tokenizers/load-tokenizer-directory.ts'
import { codingAgent, makeConversation } from './conversation.bench.ts'
import { createTurnBench, type TurnCost } from './turn-cost.bench.ts'

const [, , directory = '', rounds = '12'] = process.argv
const model = await loadTokenizerDirectory(directory)
const conversation = makeConversation(codingAgent)
const bench = await createTurnBench(model, conversation)
const plays: (readonly TurnCost[])[] = []
for (let round = 0; round < Number(rounds); round += 1) plays.push(await bench.play())
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
const at = (turn: number) => {
  const costs = plays.slice(2).map((play) => play[turn - 1] as TurnCost)
  const of = (pick: (cost: TurnCost) => number) => median(costs.map(pick)).toFixed(2)
  return {
    total: of((cost) => cost.total),
    jsonParse: of((cost) => cost.jsonParse),
    readRequest: of((cost) => cost.readRequest),
    match: of((cost) => cost.match),
    rest: of((cost) => cost.total - cost.jsonParse - cost.readRequest - cost.match),
  }
}
process.stdout.write(`${bench.promptTokens} tokens, body ${conversation.bodies.at(-1)?.length} characters\n`)
for (const turn of [1, 2, 5, 10, 20, 30, 40, 50]) process.stdout.write(`turn ${turn} ${JSON.stringify(at(turn))}\n`)
process.exit(0)
