import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert } from '../../lib/assert.ts';
import type { EngineInput, EngineRequest, EngineStart, LoadedModel, TextEngine } from '../engine.ts';
import { askAgain, EngineGoneError, failingWith, startAgain } from '../engine-gone.ts';
import { freePort } from '../free-port.ts';
import { createSupervisor } from '../supervisor.ts';
import type { Supervisor, SupervisorLog, SupervisorTimes } from '../supervisor.ts';
import { createLlamaClient } from './client.ts';
import type { LlamaClient } from './client.ts';
import type { ProcessOptions, Ready, TokenInput } from './protocol.ts';

export interface LlamaEngineOptions extends Omit<ProcessOptions, 'socket' | 'token' | 'stateFolder'> {
  /** For logs and file names. */
  readonly name: string;
  /** Where the socket and passing state files live; created with mode 0700. */
  readonly runFolder: string;
  readonly times?: Partial<SupervisorTimes>;
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
    stateFolder: place.stateFolder,
  };
  // The child's main file has the extension of ours: .ts from sources, .js from dist.
  const main = fileURLToPath(new URL(`./process${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));
  const supervisor = createSupervisor<Up>(
    {
      name: options.name,
      launch: () => ({
        command: process.execPath,
        args: ['--disable-warning=ExperimentalWarning', main, JSON.stringify(processOptions)],
        handshake(line) {
          if (!line.startsWith('{"ready"')) return undefined;
          const { model } = JSON.parse(line) as Ready;
          return { model, client: createLlamaClient({ socket: place.socket, token: place.token, ...needs }) };
        },
      }),
      heartbeat: ({ client }) => client.ping(PING_MS_MAX),
      onGone: ({ client }) => client.close(),
    },
    needs.log,
    options.times,
  );

  /** Passes a failure on. After that of a dead process, the next call gets another one. */
  const failureOf =
    (up: Up) =>
    async (error: unknown): Promise<never> => {
      if (error instanceof EngineGoneError) await supervisor.gone(up);
      throw error;
    };

  const generate = async (request: EngineRequest, signal: AbortSignal): Promise<EngineStart> => {
    const up = await supervisor.ready(signal);
    const fail = failureOf(up);
    const started = await up.client.generate(request, signal).catch(fail);
    return { ...started, batches: failingWith(started.batches, fail) };
  };

  const asked = <T>(ask: (client: LlamaClient) => Promise<T>, signal?: AbortSignal): Promise<T> =>
    askAgain(async () => {
      const up = await supervisor.ready(signal);
      return await ask(up.client).catch(failureOf(up));
    });

  return {
    supervisor,
    get state() {
      return supervisor.state === 'stopped' ? 'starting' : supervisor.state;
    },
    capabilities: {
      input: 'prompt',
      logprobs: true,
      grammar: true,
      phases: true,
      cache: true,
      choicesMax: options.sequences,
    },
    start: (request, signal) => startAgain(() => generate(request, signal)),
    async model() {
      return (await supervisor.ready()).model;
    },
    countTokens: (input) => asked((client) => client.countTokens(promptInput(input))),
    tokenize: (input) => asked((client) => client.tokenize(promptInput(input))),
    embeddings: {
      dimensions: async () => (await supervisor.ready()).model.vectorDimensions ?? 0,
      embed: (request, signal) => asked((client) => client.embed(request, signal), signal),
    },
    ranking: { rank: (request, signal) => asked((client) => client.rank(request, signal), signal) },
    async close() {
      await supervisor.stop();
      for (const folder of [place.folder, place.stateFolder]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function promptInput(input: EngineInput): TokenInput {
  assert(input.type !== 'messages', 'a prompt engine was given messages');
  return input;
}

interface Place {
  /** Of the socket. */
  readonly folder: string;
  readonly stateFolder: string;
  readonly socket: string;
  readonly token?: string;
}

/**
 * States and a socket in a folder that is closed to others. Where the socket's path would be too long, it has one under
 * the system's own; states never go there, for only the run folder is swept.
 */
async function choosePlace(runFolder: string): Promise<Place> {
  sweep(runFolder);
  const stateFolder = join(runFolder, `${LIFE}-${randomBytes(4).toString('hex')}`);
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
  chmodSync(stateFolder, 0o700);
  if (process.platform === 'win32')
    return {
      folder: stateFolder,
      stateFolder,
      socket: `127.0.0.1:${await freePort()}`,
      token: randomBytes(32).toString('hex'),
    };
  const isShort = Buffer.byteLength(join(stateFolder, 'engine.sock')) < SOCKET_PATH_BYTES_MAX;
  const folder = isShort ? stateFolder : mkdtempSync(join(tmpdir(), 'parley-'));
  chmodSync(folder, 0o700);
  return { folder, stateFolder, socket: join(folder, 'engine.sock') };
}

/** This process and no other of the same number: in a container every start may get the same one. */
const LIFE = `${process.pid}-${Math.floor(performance.timeOrigin).toString(36)}`;

/** A process that was killed leaves its folder behind. */
function sweep(runFolder: string): void {
  if (!existsSync(runFolder)) return;
  for (const name of readdirSync(runFolder)) {
    const pid = Number(/^(\d+)-/.exec(name)?.[1]);
    const isLeft = pid === process.pid ? !name.startsWith(`${LIFE}-`) : pid > 0 && !isAlive(pid);
    if (isLeft) rmSync(join(runFolder, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
