import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './child.ts';
import { createClient, firstTokenMs, tokensPerSecond } from './load.ts';
import type { Client } from './load.ts';
import { inTurn, median, ratioOf } from './pairs.ts';
import { usageOf } from './process-tree.ts';
import { freePort, startProgram } from './program.ts';
import { setUpLlamaServer } from './setup/llama-server.ts';
import type { Row } from './table.ts';

const ROUNDS = 4;
const SEQUENCES = 8;
const CONTEXT_TOKENS = 2048;
const TOKENS = 40;
const SHARED_CALLS = 3;
/** No more: a server whose sequences share nothing evaluates the whole of each. */
const SHARED_AT_ONCE = 3;
/** As few as show when the first came. */
const FEW_TOKENS = 2;
const MIB = 2 ** 20;

const TOPICS = [
  'a lighthouse',
  'a railway',
  'an orchard',
  'a harbour',
  'a desert',
  'a bakery',
  'a glacier',
  'a library',
];
/** 44 such sentences, with what the template adds, are some 500 tokens. */
const SENTENCES = 44;

/** What one side did in one round; times are in ms. */
interface Figures {
  readonly rateOfOne: number;
  readonly rateOfEight: number;
  readonly coldMs: number;
  readonly sharedMs: number;
  readonly sharedTogetherMs: number;
  readonly rssMib: number;
}

interface Side {
  readonly client: Client;
  readonly pid: number;
  /** Counts up, so that no two rounds have a beginning in common. */
  fresh(): number;
}

/** The embedded engine through our HTTP beside llama.cpp's own server, both on one thread and the same weights. */
export async function besideLlamaServer(
  modelFile: string,
  modelsFolder: string,
  note: (text: string) => void,
): Promise<{ readonly rows: readonly Row[]; readonly remarks: readonly string[] }> {
  const command = await setUpLlamaServer(note);
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  const sizes = [
    '--parallel',
    SEQUENCES,
    '--ctx-size',
    SEQUENCES * CONTEXT_TOKENS,
    '--threads',
    1,
    '--threads-batch',
    1,
  ];
  const peer = await startProgram({
    command,
    args: ['--model', modelFile, '--host', '127.0.0.1', '--port', String(port), ...sizes.map(String)],
    health: `${address}/health`,
    log: join(folder, 'llama-server.log'),
  });
  try {
    const service = await startChild('./peers/parley-server.ts', {
      PARLEY_DATA: join(folder, 'data'),
      PARLEY_PORT: '0',
      PARLEY_MODELS: modelsFolder,
      PARLEY_ENGINE_SEQUENCES: String(SEQUENCES),
      PARLEY_ENGINE_CONTEXT_TOKENS: String(CONTEXT_TOKENS),
      PARLEY_ENGINE_THREADS: '1',
      PARLEY_LOG_LEVEL: 'warn',
    });
    try {
      const { url, key } = await service.ask<{ url: string; key: string }>('address');
      const ours = sideOf(createClient(`${url}/v1/chat/completions`, key), service.pid);
      const theirs = sideOf(createClient(`${address}/v1/chat/completions`, 'none'), peer.pid);
      for (const { client } of [ours, theirs]) await client.call(asked('Say hello.', TOKENS));
      const [a = [], b = []] = await inTurn(
        ROUNDS,
        [ours, theirs].map((side) => () => figuresOf(side)),
        note,
      );
      const row = (what: string, unit: string, goal: string, of: (figures: Figures) => number): Row => {
        const pairs = { a: a.map(of), b: b.map(of) };
        return { what, unit, ...pairs, peer: 'llama-server', ratio: ratioOf(pairs), goal };
      };
      const rows = [
        row('1 stream', 'tok/s', '≥ 1.0', (figures) => figures.rateOfOne),
        row(`${SEQUENCES} streams`, 'tok/s', '≥ 0.9', (figures) => figures.rateOfEight),
        row('first token of a new 500-token prompt', 'ms', 'reported', (figures) => figures.coldMs),
        row('first token, its first 500 shared', 'ms', '≤ 1.1', (figures) => figures.sharedMs),
        row(`the same, ${SHARED_AT_ONCE} at once`, 'ms', 'reported', (figures) => figures.sharedTogetherMs),
        row('RSS', 'MiB', 'reported', (figures) => figures.rssMib),
      ];
      ours.client.close();
      theirs.client.close();
      return { rows, remarks: [] };
    } finally {
      await service.stop();
    }
  } finally {
    await peer.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function sideOf(client: Client, pid: number): Side {
  let rounds = 0;
  return { client, pid, fresh: () => rounds++ };
}

async function figuresOf({ client, pid, fresh }: Side): Promise<Figures> {
  const round = fresh();
  const rate = async (streams: number): Promise<number> => {
    const topics = TOPICS.slice(0, streams);
    const answers = await Promise.all(
      topics.map((topic) =>
        client.call(asked(`Part ${round} of ${streams}. Write a long story about ${topic} and the sea.`, TOKENS)),
      ),
    );
    return answers.reduce((sum, answer) => sum + tokensPerSecond(answer, TOKENS), 0);
  };
  const firstMs = async (text: string): Promise<number> => firstTokenMs(await client.call(asked(text, FEW_TOKENS)));
  const shared = `Notes, part ${round}. ${'The keeper lit the lamp before the fog came in. '.repeat(SENTENCES)}`;
  const rateOfOne = await rate(1);
  const rateOfEight = await rate(SEQUENCES);
  const coldMs = await firstMs(`${shared}What was lit?`);
  const again: number[] = [];
  for (const topic of TOPICS.slice(0, SHARED_CALLS)) again.push(await firstMs(`${shared}Is there ${topic}?`));
  const together = await Promise.all(
    TOPICS.slice(0, SHARED_AT_ONCE).map((topic) => firstMs(`${shared}Where is ${topic}?`)),
  );
  return {
    rateOfOne,
    rateOfEight,
    coldMs,
    sharedMs: median(again),
    sharedTogetherMs: median(together),
    rssMib: usageOf(pid).rssBytes / MIB,
  };
}

const asked = (content: string, tokens: number): object => ({
  model: 'svc-plus',
  stream: true,
  temperature: 0,
  repetition_penalty: 1,
  max_tokens: tokens,
  messages: [{ role: 'user', content }],
});
