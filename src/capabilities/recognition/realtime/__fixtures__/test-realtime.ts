import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { ModelEntry } from '../../../../catalogue/model.ts';
import { ServiceError } from '../../../../core/error.ts';
import type { LogFields } from '../../../../core/telemetry.ts';
import { createScriptedSpeechEngine } from '../../../../engines/scripted/scripted-speech-engine.ts';
import type { RecognitionRequest, SpeechEngine } from '../../../../engines/speech-engine.ts';
import { openPcmStream } from '../../transcription/pcm-stream.ts';
import { createRecognitionLimit } from '../recognition-limit.ts';
import type { RealtimeSessionDeps } from '../realtime-session.ts';
import { createRealtimeSession } from '../realtime-session.ts';

// Realtime sessions without sockets, on the scripted engine, with a clock that only tests move.

export const TASK = '0123456789abcdef0123456789abcdef';
export const OTHER_TASK = '01234567-89ab-cdef-0123-456789abcdee';

const TEST_ENTRY: ModelEntry = {
  name: 'svc-asr-realtime',
  description: '',
  runner: { type: 'none', reason: 'scripted' },
  contextTokens: 0,
  abilities: { tools: false, vision: false, audio: false, logprobs: false, fillInTheMiddle: false },
  interfaces: ['speech'],
  sampling: {},
  created: 0,
};

export interface SentEvent {
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

/** Creates sessions that share a clock, a concurrency limit and a log. */
export function createTestRealtime(overrides: Partial<RealtimeSessionDeps> & { readonly engine?: SpeechEngine } = {}) {
  let now = 0;
  const lines: LogFields[] = [];
  const requests: RecognitionRequest[] = [];
  const running = { recognitions: 0, leases: 0 };
  let isKeyValid = true;
  const innerEngine = overrides.engine ?? createScriptedSpeechEngine();
  const engine: SpeechEngine = {
    ...innerEngine,
    recognize(request, signal) {
      requests.push(request);
      return innerEngine.recognize(request, signal);
    },
  };
  const deps: RealtimeSessionDeps = {
    catalogue: () => ({
      async resolve(name) {
        if (name.includes('realtime')) return { requestedName: name, entry: TEST_ENTRY };
        throw new ServiceError('model-not-found', `The model \`${name}\` does not exist.`, { param: 'model' });
      },
    }),
    acquireSpeechEngine: async () => {
      running.leases += 1;
      return { engine, release: () => void (running.leases -= 1) };
    },
    findHotwords: async (_owner, id) => {
      if (id === 'vocab-a-1') return [{ text: 'Parley', weight: 4 }, { text: 'Qwen', weight: 2 }];
      throw new ServiceError('not-found', 'There is no such vocabulary.');
    },
    openAudio: openPcmStream,
    recognitionLimit: createRecognitionLimit(3, async () => true),
    clock: { now: () => now, monotonic: () => now },
    log: {
      info: (message, fields) => void lines.push({ message, level: 'info', ...fields }),
      warn: (message, fields) => void lines.push({ message, level: 'warn', ...fields }),
      error: (message, fields) => void lines.push({ message, level: 'error', ...fields }),
    },
    meter: {
      trackRecognition() {
        running.recognitions += 1;
        return () => void (running.recognitions -= 1);
      },
    },
    ...overrides,
  };

  const open = () => {
    const sent: string[] = [];
    const closes: (readonly [code: number, reason: string])[] = [];
    let isReadingPaused = false;
    const session = createRealtimeSession(
      deps,
      {
        send: (text) => void sent.push(text),
        pauseReading: () => void (isReadingPaused = true),
        resumeReading: () => void (isReadingPaused = false),
        close: (code, reason) => void closes.push([code, reason]),
      },
      {
        requestId: 'r1',
        owner: { workspace: 'primary', region: 'cn-beijing', keyId: 'key_1' },
        checkKey: async () => {
          if (!isKeyValid) throw new ServiceError('unauthenticated', '');
        },
      },
    );
    const parseSent = (): readonly SentEvent[] => sent.map((text) => JSON.parse(text) as SentEvent);
    const listEventNames = (): readonly string[] => parseSent().map(({ header }) => header.event);
    const peer = {
      session,
      sent,
      closes,
      isReadingPaused: () => isReadingPaused,
      parseSent,
      listEventNames,
      getLastHeader: () => parseSent().at(-1)?.header,
      listSentences: () => parseSent().flatMap(({ payload }) => payload.output?.sentence ?? []),
      listFinalSentences: () => peer.listSentences().filter((sentence) => sentence.sentence_end),
      sendRunTask: (parameters: object = {}, fields: object = {}, id = TASK) => session.onText(createRunTask(parameters, fields, id)),
      async start(parameters: object = {}, fields: object = {}, id = TASK) {
        peer.sendRunTask(parameters, fields, id);
        await waitUntil(() => !peer.listEventNames().at(-1)?.startsWith('result') && peer.getLastHeader()?.task_id === id);
      },
      async finish(id = TASK) {
        session.onText(createCommand('finish-task', { input: {} }, id));
        await waitUntil(() => ['task-finished', 'task-failed'].includes(peer.listEventNames().at(-1) ?? ''));
      },
    };
    return peer;
  };

  return {
    /** For tests with real sockets. */
    deps,
    open,
    lines,
    requests,
    running,
    advance: (ms: number) => void (now += ms),
    revokeKey: () => void (isKeyValid = false),
  };
}

export const createCommand = (action: string, payload: object, id = TASK): string =>
  JSON.stringify({ header: { action, task_id: id, streaming: 'duplex' }, payload });

export const createRunTask = (parameters: object = {}, fields: object = {}, id = TASK): string =>
  createCommand(
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

/** Waits for a condition by yielding to the event loop; nothing in these tests needs real time. */
export async function waitUntil(condition: () => boolean): Promise<void> {
  for (let turns = 0; !condition(); turns += 1) {
    if (turns > 20_000) throw new Error('the condition did not become true');
    await yieldToEventLoop();
  }
}
