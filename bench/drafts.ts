import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createEngineEnv, withParley, withTemporaryFolder, type BenchService } from './bench-service.ts';
import type { BenchmarkResult } from './benchmark.ts';
import { computeTokensPerSecond, createChatClient } from './load.ts';
import { measureRow, type ResultRow } from './result-table.ts';

const ROUNDS = 5;
const TOKENS = 128;

const CODE = `export function summarizeOrders(orders, taxRate) {
  const totals = new Map();
  for (const order of orders) {
    if (order.state === 'cancelled') continue;
    const net = order.items.reduce((sum, item) => sum + item.price * item.count, 0);
    const gross = net * (1 + taxRate);
    const before = totals.get(order.customer) ?? { net: 0, gross: 0, orders: 0 };
    totals.set(order.customer, {
      net: before.net + net,
      gross: before.gross + gross,
      orders: before.orders + 1,
    });
  }
  return [...totals.entries()].map(([customer, total]) => ({ customer, ...total }));
}`;

const PARAGRAPH =
  'The lighthouse of Sandholm was built in 1868 by the engineer Mara Lind, who had worked on the harbor of Visby before. ' +
  'It is 31 meters high, has 142 steps, and its light can be seen from 18 nautical miles. The first keeper was Olof Berg, ' +
  'who lived in the tower with his family until 1902. In 1938 the light was electrified, and since 1974 it has run without a keeper. ' +
  'The storm of 1954 broke all windows of the lantern room, and the repair took eleven weeks, because the glass had to come from France. ' +
  'Today the tower is a museum, which 23,000 people visit each summer; tickets cost 60 crowns and are sold at the ferry.';

/** Prompts whose answers copy much, something, and nothing. */
const TASKS: Readonly<Record<string, string>> = {
  'an edit of code': `Rename \`orders\` to \`purchases\` in this function. Answer with the complete code only.\n\n\`\`\`js\n${CODE}\n\`\`\``,
  'a quotation': `Repeat this text word for word:\n\n${PARAGRAPH}`,
  'a story': 'Write a long story about a lighthouse keeper and the sea.',
};

/**
 * Compares the embedded engine with drafts (`speculative: { method: ngram }`) and without, in one service with both
 * entries, and reports whether the answers are the same.
 */
export const measureDrafts = (
  modelFile: string,
  modelsFolder: string,
  logProgress: (text: string) => void,
): Promise<BenchmarkResult> =>
  withTemporaryFolder(async (folder) => {
    const config = join(folder, 'parley.yaml');
    const entry = { path: modelFile };
    const models = { plain: entry, drafting: { ...entry, speculative: { method: 'ngram' } } };
    await writeFile(config, JSON.stringify({ models }));
    const env = { ...createEngineEnv(modelsFolder, { sequences: 1, contextTokens: 2048 }), PARLEY_CONFIG: config };
    return await withParley(env, (service) => compareDrafts(service, logProgress));
  });

async function compareDrafts(service: BenchService, logProgress: (text: string) => void): Promise<BenchmarkResult> {
  const client = createChatClient(service);
  const rows: ResultRow[] = [];
  const remarks: string[] = [];
  for (const [name, content] of Object.entries(TASKS)) {
    const texts: Record<string, string> = {};
    const run = (model: string) => async (): Promise<number> => {
      const messages = [{ role: 'user', content }];
      const sampling = { temperature: 0, repetition_penalty: 1, max_tokens: TOKENS };
      const response = await client.call({ model, stream: true, messages, ...sampling });
      texts[model] = readText(response.text);
      return computeTokensPerSecond(response, TOKENS);
    };
    // The prompt is evaluated once for each model and then cached.
    await run('plain')();
    await run('drafting')();
    const row = { measurement: `${name}, with drafts`, unit: 'tok/s', peer: 'without', goal: 'reported' };
    rows.push(await measureRow({ ...row, rounds: ROUNDS, logProgress }, run('drafting'), run('plain')));
    remarks.push(`${name}: the answers are ${texts['plain'] === texts['drafting'] ? 'the same' : 'different'}`);
  }
  client.close();
  return { rows, remarks };
}

const readText = (stream: string): string =>
  [...stream.matchAll(/"content":\s*("(?:[^"\\]|\\.)*")/g)].map(([, text = '""']) => String(JSON.parse(text))).join('');
