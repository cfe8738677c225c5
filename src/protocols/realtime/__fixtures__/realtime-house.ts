import { setImmediate as turn } from 'node:timers/promises';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import type { Facts } from '../../../core/telemetry.ts';
import { scriptedSpeech } from '../../../engines/scripted/scripted-speech.ts';
import type { RecognitionRequest, SpeechEngine } from '../../../engines/speech-engine.ts';
import { openPcmStream } from '../../../transcription/pcm-stream.ts';
import { createPlaces } from '../places.ts';
import type { SessionNeeds } from '../session.ts';
import { createSession } from '../session.ts';

// For tests of this room: sessions without sockets, on the scripted engine, with a clock that stands still.

export const TASK = '0123456789abcdef0123456789abcdef';
export const OTHER = '01234567-89ab-cdef-0123-456789abcdee';

const ENTRY: ModelEntry = {
  name: 'svc-asr-realtime',
  description: '',
  runs: { type: 'none', reason: 'scripted' },
  contextTokens: 0,
  abilities: { tools: false, vision: false, audio: false, logprobs: false, fillInTheMiddle: false },
  interfaces: ['speech'],
  sampling: {},
  created: 0,
};

export interface Said {
  readonly header: {
    readonly task_id: string;
    readonly event: string;
    readonly error_code?: string;
    readonly error_message?: string;
    readonly attributes: Readonly<Record<string, string>>;
  };
  readonly payload: {
    readonly output?: {
      readonly sentence?: {
        readonly begin_time: number;
        readonly end_time: number | null;
        readonly text: string;
        readonly heartbeat: boolean;
        readonly sentence_end: boolean;
        readonly sentence_id: number;
        readonly words: readonly { readonly text: string; readonly punctuation: string }[];
      };
    };
    readonly usage?: { readonly duration: number } | null;
  };
}

/** All sessions of a house share its clock, its places and its log. */
export function createHouse(more: Partial<SessionNeeds> & { readonly engine?: SpeechEngine } = {}) {
  let now = 0;
  const lines: Facts[] = [];
  const asked: RecognitionRequest[] = [];
  const running = { recognitions: 0, leases: 0 };
  let isKeyGood = true;
  const inner = more.engine ?? scriptedSpeech();
  const engine: SpeechEngine = {
    ...inner,
    recognize(request, signal) {
      asked.push(request);
      return inner.recognize(request, signal);
    },
  };
  const needs: SessionNeeds = {
    catalogue: () => ({
      resolve(name) {
        if (name.includes('realtime')) return { asked: name, entry: ENTRY };
        throw new ServiceError('model-not-found', `The model \`${name}\` does not exist.`, { param: 'model' });
      },
    }),
    speechFor: async () => {
      running.leases += 1;
      return { engine, release: () => void (running.leases -= 1) };
    },
    findHotwords: async (_owner, id) => {
      if (id === 'vocab-a-1') return [{ text: 'Parley', weight: 4 }, { text: 'Qwen', weight: 2 }];
      throw new ServiceError('not-found', 'There is no such vocabulary.');
    },
    openAudio: openPcmStream,
    places: createPlaces(2),
    clock: { now: () => now, monotonic: () => now },
    log: {
      info: (message, facts) => void lines.push({ message, level: 'info', ...facts }),
      warn: (message, facts) => void lines.push({ message, level: 'warn', ...facts }),
      error: (message, facts) => void lines.push({ message, level: 'error', ...facts }),
    },
    meter: {
      recognitionStarted() {
        running.recognitions += 1;
        return () => void (running.recognitions -= 1);
      },
    },
    ...more,
  };

  const open = () => {
    const sent: string[] = [];
    const closes: (readonly [code: number, reason: string])[] = [];
    let isHeld = false;
    const session = createSession(
      needs,
      {
        send: (text) => void sent.push(text),
        hold: () => void (isHeld = true),
        release: () => void (isHeld = false),
        close: (code, reason) => void closes.push([code, reason]),
      },
      {
        requestId: 'r1',
        owner: { workspace: 'primary', region: 'cn-beijing', keyId: 'key_1' },
        checkKey: async () => {
          if (!isKeyGood) throw new ServiceError('unauthenticated', '');
        },
      },
    );
    const said = (): readonly Said[] => sent.map((text) => JSON.parse(text) as Said);
    const names = (): readonly string[] => said().map(({ header }) => header.event);
    const peer = {
      session,
      sent,
      closes,
      isHeld: () => isHeld,
      said,
      names,
      last: () => said().at(-1)?.header,
      sentences: () => said().flatMap(({ payload }) => payload.output?.sentence ?? []),
      finals: () => peer.sentences().filter((sentence) => sentence.sentence_end),
      run: (parameters: object = {}, fields: object = {}, id = TASK) => session.text(runTask(parameters, fields, id)),
      async start(parameters: object = {}, fields: object = {}, id = TASK) {
        peer.run(parameters, fields, id);
        await until(() => !peer.names().at(-1)?.startsWith('result') && peer.last()?.task_id === id);
      },
      async finish(id = TASK) {
        session.text(command('finish-task', { input: {} }, id));
        await until(() => ['task-finished', 'task-failed'].includes(peer.names().at(-1) ?? ''));
      },
    };
    return peer;
  };

  return {
    /** For a house with real sockets. */
    needs,
    open,
    lines,
    asked,
    running,
    pass: (ms: number) => void (now += ms),
    revokeKey: () => void (isKeyGood = false),
  };
}

export const command = (action: string, payload: object, id = TASK): string =>
  JSON.stringify({ header: { action, task_id: id, streaming: 'duplex' }, payload });

export const runTask = (parameters: object = {}, fields: object = {}, id = TASK): string =>
  command(
    'run-task',
    {
      model: 'paraformer-realtime-v2',
      task_group: 'audio',
      task: 'asr',
      function: 'recognition',
      parameters: { format: 'pcm', sample_rate: 16_000, ...parameters },
      input: {},
      ...fields,
    },
    id,
  );

/** Whatever is under way comes to it within a few turns of the loop: nothing here waits for a clock. */
export async function until(isThere: () => boolean): Promise<void> {
  for (let turns = 0; !isThere(); turns += 1) {
    if (turns > 20_000) throw new Error('it does not come to it');
    await turn();
  }
}
