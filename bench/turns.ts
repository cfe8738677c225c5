import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './child.ts';
import { ratioOf } from './pairs.ts';
import type { Row } from './table.ts';

const ROUNDS = 3;
const TURNS = 20;
const ANSWER_TOKENS = 16;

/** As long in every turn, and never the same: what another conversation has asked already would not be new. */
const questionOf = (round: number, turn: number): string =>
  `Entry ${100 + turn} of log ${10 + round}: the keeper walks up the stairs, lights the lamp, writes down the wind and the weather, ` +
  'looks at the ships that pass by, and waits for the morning. What will he do next, and why? Answer in one sentence.';

interface Service {
  readonly url: string;
  readonly key: string;
}

/** What a long history costs: ms to the first word of turn 20 beside turn 2 of the same conversation, for as much new input. */
export async function turns(modelsFolder: string, note: (text: string) => void): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const child = await startChild('./peers/parley-server.ts', {
    PARLEY_DATA: folder,
    PARLEY_PORT: '0',
    PARLEY_MODELS: modelsFolder,
    PARLEY_ENGINE_SEQUENCES: '2',
    PARLEY_ENGINE_CONTEXT_TOKENS: '4096',
    PARLEY_ENGINE_THREADS: '1',
    PARLEY_LOG_LEVEL: 'warn',
  });
  try {
    const service = await child.ask<Service>('address');
    const a: number[] = [];
    const b: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      note(`conversation ${round + 1} of ${ROUNDS}`);
      const times = await timesOf(service, round);
      a.push(times.at(-1) ?? NaN);
      b.push(times[1] ?? NaN);
    }
    return [
      {
        what: `first word of turn ${TURNS}`,
        unit: 'ms',
        a,
        b,
        peer: 'turn 2',
        ratio: ratioOf({ a, b }),
        goal: '≤ 1.5',
      },
    ];
  } finally {
    await child.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Milliseconds to the first word, turn by turn, of a new conversation. */
async function timesOf(service: Service, round: number): Promise<readonly number[]> {
  const made: unknown = await (await post(service, 'conversations', {})).json();
  const { id: conversation } = Object(made);
  const times: number[] = [];
  for (let turn = 1; turn <= TURNS; turn++) {
    const began = performance.now();
    const answer = await post(service, 'responses', {
      model: 'svc-plus',
      conversation,
      input: questionOf(round, turn),
      stream: true,
      temperature: 0,
      max_output_tokens: ANSWER_TOKENS,
    });
    let text = '';
    let firstAt: number | undefined;
    for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.includes('event:response.output_text.delta')) firstAt ??= performance.now();
    }
    if (firstAt === undefined || !/event:response\.(completed|incomplete)/.test(text))
      throw new Error(`turn ${turn} has no answer: ${text.slice(0, 500)}`);
    times.push(firstAt - began);
  }
  return times;
}

async function post({ url, key }: Service, path: string, body: object): Promise<Response> {
  const answer = await fetch(`${url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer;
}
