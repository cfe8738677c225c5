import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert } from '../../lib/assert.ts';
import type { EngineEvent } from '../../core/event.ts';
import type { EngineInput, EngineRequest, EngineStart, LoadedModel, TextEngine } from '../engine.ts';
import { createSupervisor } from '../supervisor.ts';
import type { Supervisor, SupervisorLog, SupervisorTimes } from '../supervisor.ts';
import { createLlamaClient, EngineGoneError } from './client.ts';
import type { LlamaClient } from './client.ts';
import type { ProcessOptions, Ready, TokenInput } from './protocol.ts';

export interface LlamaEngineOptions {
  /** For logs and file names. */
  readonly name: string;
  readonly modelFile: string;
  readonly contextTokens: number;
  readonly sequences: number;
  readonly threads: number;
  readonly gpu: 'auto' | false;
  readonly queuePlacesMax: number;
  readonly queueWaitMsMax: number;
  /** Where the socket and passing state files live; created with mode 0700. */
  readonly runFolder: string;
  readonly times?: SupervisorTimes;
}

interface Up {
  readonly model: LoadedModel;
  readonly client: LlamaClient;
}

export interface LlamaEngine extends TextEngine {
  readonly supervisor: Pick<Supervisor<unknown>, 'state' | 'pid'>;
}

/** Linux allows 108 bytes, macOS 104, for the path of a socket. */
const SOCKET_PATH_BYTES_MAX = 100;

/** How long a heartbeat may take, in ms. Ours. */
const PING_MS_MAX = 10_000;

/** A model file run by the embedded engine, in a process of its own. */
export async function createLlamaEngine(
  options: LlamaEngineOptions,
  needs: { readonly log: SupervisorLog; readonly onToken?: () => void },
): Promise<LlamaEngine> {
  const place = await choosePlace(options.runFolder);
  const processOptions: ProcessOptions = {
    socket: place.socket,
    ...(place.token === undefined ? {} : { token: place.token }),
    modelFile: options.modelFile,
    contextTokens: options.contextTokens,
    sequences: options.sequences,
    threads: options.threads,
    gpu: options.gpu,
    queuePlacesMax: options.queuePlacesMax,
    queueWaitMsMax: options.queueWaitMsMax,
    stateFolder: place.folder,
  };
  // The child's main file has the extension of ours: .ts from sources, .js from dist.
  const main = fileURLToPath(new URL(`./process${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));
  const supervisor = createSupervisor<Up>(
    {
      name: options.name,
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', main, JSON.stringify(processOptions)],
      handshake(line) {
        if (!line.startsWith('{"ready"')) return undefined;
        const { model } = JSON.parse(line) as Ready;
        return { model, client: createLlamaClient({ socket: place.socket, token: place.token, ...needs }) };
      },
      heartbeat: ({ client }) => client.ping(PING_MS_MAX),
      onGone: ({ client }) => client.close(),
    },
    needs.log,
    options.times,
  );

  const generate = async (request: EngineRequest, signal: AbortSignal): Promise<EngineStart> => {
    const { client } = await supervisor.ready(signal);
    return await client.generate(request, signal);
  };

  return {
    supervisor,
    capabilities: { input: 'prompt', logprobs: true, grammar: true, phases: true, choicesMax: options.sequences },
    async start(request, signal) {
      const again = (): Promise<EngineStart> => generate(request, signal);
      try {
        const started = await again();
        return { ...started, batches: retryUnspoken(started.batches, again) };
      } catch (error) {
        if (!(error instanceof EngineGoneError)) throw error;
        return await again();
      }
    },
    async model() {
      return (await supervisor.ready()).model;
    },
    async countTokens(input) {
      return (await supervisor.ready()).client.countTokens(promptInput(input));
    },
    async close() {
      await supervisor.stop();
      rmSync(place.folder, { recursive: true, force: true });
    },
  };
}

/** A run that dies before it said anything is started once more. */
async function* retryUnspoken(
  batches: AsyncIterable<readonly EngineEvent[]>,
  again: () => Promise<EngineStart>,
): AsyncGenerator<readonly EngineEvent[], void> {
  let hasSpoken = false;
  try {
    for await (const batch of batches) {
      hasSpoken = true;
      yield batch;
    }
    return;
  } catch (error) {
    if (hasSpoken || !(error instanceof EngineGoneError)) throw error;
  }
  yield* (await again()).batches;
}

function promptInput(input: EngineInput): TokenInput {
  assert(input.type !== 'messages', 'a prompt engine was given messages');
  return input;
}

interface Place {
  readonly folder: string;
  readonly socket: string;
  readonly token?: string;
}

/** A socket in a folder that is closed to others; where its path would be too long, one under the system's own. */
async function choosePlace(runFolder: string): Promise<Place> {
  const name = randomBytes(4).toString('hex');
  if (process.platform === 'win32') {
    const folder = mkdtempSync(join(tmpdir(), 'parley-'));
    return { folder, socket: `127.0.0.1:${await freePort()}`, token: randomBytes(32).toString('hex') };
  }
  const wanted = join(runFolder, name);
  const isShort = Buffer.byteLength(join(wanted, 'engine.sock')) < SOCKET_PATH_BYTES_MAX;
  const folder = isShort ? wanted : mkdtempSync(join(tmpdir(), 'parley-'));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  return { folder, socket: join(folder, 'engine.sock') };
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
