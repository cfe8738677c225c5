import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './child.ts';
import { createClient, tokensPerSecond } from './load.ts';
import { alternate, ratioOf } from './pairs.ts';
import type { Row } from './table.ts';

const TOKENS = 48;
const ROUNDS = 5;
const SEQUENCES = 8;
const QUESTION = 'Write a long story about a lighthouse keeper and the sea.';
/** The same words as the template makes of the question. */
const PROMPT = `<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n${QUESTION}<|im_end|>\n<|im_start|>assistant\n`;

interface Variant {
  readonly logprobs?: true;
  readonly top_logprobs?: number;
  readonly seed?: number;
  readonly response_format?: object;
}

/** More numbers than are waited for: the answer ends with its limit, as the free one does. */
const NUMBERS = {
  type: 'json_schema',
  json_schema: { name: 'numbers', schema: { type: 'array', items: { type: 'integer' }, minItems: TOKENS } },
};

/** (b) The engine through the front door against the library driven directly. */
export async function engine(modelFile: string, modelsFolder: string, note: (text: string) => void): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const threads = '1';
  const service = await startChild('./peers/parley-server.ts', {
    PARLEY_DATA: folder,
    PARLEY_PORT: '0',
    PARLEY_MODELS: modelsFolder,
    PARLEY_ENGINE_SEQUENCES: String(SEQUENCES),
    PARLEY_ENGINE_CONTEXT_TOKENS: '2048',
    PARLEY_ENGINE_THREADS: threads,
    PARLEY_LOG_LEVEL: 'warn',
  });
  const library = await startChild('./peers/library.ts', {
    BENCH_MODEL: modelFile,
    BENCH_SEQUENCES: String(SEQUENCES),
    BENCH_THREADS: threads,
  });
  try {
    const { url, key } = await service.ask<{ url: string; key: string }>('address');
    const client = createClient(`${url}/v1/chat/completions`, key);
    const frontDoor =
      (streams: number, variant: Variant = {}) =>
      async (): Promise<number> => {
        const body = {
          model: 'svc-plus',
          stream: true,
          temperature: 0,
          repetition_penalty: 1,
          max_tokens: TOKENS,
          messages: [{ role: 'user', content: QUESTION }],
          ...variant,
        };
        const answers = await Promise.all(Array.from({ length: streams }, () => client.call(body)));
        return answers.reduce((sum, answer) => sum + tokensPerSecond(answer, TOKENS), 0);
      };
    const direct = (streams: number, style: 'lock-step' | 'free') => () =>
      library.ask<number>({ streams, style, tokens: TOKENS, prompt: PROMPT });

    const rows: Row[] = [];
    const compare = async (
      what: string,
      peer: string,
      a: () => Promise<number>,
      b: () => Promise<number>,
      goal: string,
    ): Promise<void> => {
      note(what);
      const pairs = await alternate(ROUNDS, a, b, note);
      rows.push({ what, unit: 'tok/s', ...pairs, peer, ratio: ratioOf(pairs), goal });
    };
    await frontDoor(1)();
    await direct(1, 'lock-step')();
    for (const [streams, goal] of [
      [1, '≥ 0.97'],
      [4, '≥ 0.95'],
      [8, '≥ 0.95'],
    ] as const)
      await compare(
        `front door, ${streams} stream${streams > 1 ? 's' : ''}`,
        'library in lock step',
        frontDoor(streams),
        direct(streams, 'lock-step'),
        goal,
      );
    await compare('front door, 4 streams', 'library free-running', frontDoor(4), direct(4, 'free'), '≥ 1.4');
    await compare(
      '4 streams with top_logprobs 5',
      'the same without',
      frontDoor(4, { logprobs: true, top_logprobs: 5 }),
      frontDoor(4),
      'reported',
    );
    for (const streams of [1, 4])
      await compare(
        `${streams} stream${streams > 1 ? 's' : ''} under a JSON schema`,
        'the same free',
        frontDoor(streams, { response_format: NUMBERS }),
        frontDoor(streams),
        'reported',
      );
    await compare('4 streams with a seed', 'the same without', frontDoor(4, { seed: 7 }), frontDoor(4), 'reported');
    const besideSeeded = async (): Promise<number> => {
      const seeded = frontDoor(1, { seed: 7 })();
      const rate = await frontDoor(3)();
      await seeded;
      return rate;
    };
    await compare(
      '3 streams beside a seeded one',
      '3 beside an unseeded one',
      besideSeeded,
      async () => {
        const other = frontDoor(1)();
        const rate = await frontDoor(3)();
        await other;
        return rate;
      },
      'reported',
    );
    client.close();
    return rows;
  } finally {
    await Promise.all([service.stop(), library.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}
