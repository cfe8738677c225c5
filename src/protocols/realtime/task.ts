import { ServiceError } from '../../core/error.ts';
import {
  REALTIME_AUDIO_BYTES_MAX,
  REALTIME_BACKLOG_MS_MAX,
  REALTIME_HEARTBEAT_MS,
  REALTIME_SILENCE_MS_MAX,
  REALTIME_TASK_MS_MAX,
} from '../../core/limits.ts';
import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';
import type { Hotword } from '../../core/speech.ts';
import type { EngineOwner } from '../../engines/engine.ts';
import type { SpeechEngine } from '../../engines/speech-engine.ts';
import type { Clock } from '../../lib/clock.ts';
import { cleanWords } from '../../transcription/clean-words.ts';
import { createLiveRecognition } from '../../transcription/live.ts';
import type { LiveHeard } from '../../transcription/live.ts';
import { textOf } from '../../transcription/sentences.ts';
import type { AudioStream } from './audio-stream.ts';
import { failureOf, heartbeat, resultGenerated, silenceFailure } from './encode-event.ts';
import type { Failure } from './encode-event.ts';
import type { RecognitionWish } from './recognition-wish.ts';

/** What became of a recognition. */
export type TaskEnd =
  | { readonly type: 'finished' }
  | { readonly type: 'failed'; readonly failure: Failure; readonly error: ServiceError };

export interface TaskNeeds {
  readonly id: string;
  readonly owner: EngineOwner;
  readonly wish: RecognitionWish;
  /** All of them, wherever they came from. */
  readonly hotwords: readonly Hotword[];
  readonly context: string;
  readonly engine: SpeechEngine;
  readonly audio: AudioStream;
  readonly clock: Clock;
  readonly tell: (event: string) => void;
  /** Whether nothing more is to be read from the connection. */
  readonly hold: (isHeld: boolean) => void;
  /** Once. Not after an abort. */
  readonly onEnd: (end: TaskEnd) => void;
}

/** One recognition, from task-started to its end. */
export interface Task {
  readonly id: string;
  push(bytes: Uint8Array): void;
  /** What is spoken of from now on. */
  setContext(context: string): void;
  /** No audio comes any more. */
  finish(): void;
  tick(): void;
  /** Ends it without a word. */
  abort(reason: ServiceError): void;
  /** For the log. */
  facts(): { readonly audioMs: number; readonly sentences: number };
}

/** Bytes that wait for a decoder which takes no more: one message of the greatest length. */
const WAITING_BYTES_MAX = REALTIME_AUDIO_BYTES_MAX;

/** Once held back, a connection is read again when so much less is left to hear: it would flicker otherwise. In ms. */
const RELEASE_MS = 2_000;

export function createTask({ id, wish, hotwords, engine, audio, clock, tell, hold, onEnd, ...needs }: TaskNeeds): Task {
  const work = new AbortController();
  const startedAt = clock.monotonic();
  let lastAudioAt = startedAt;
  let lastToldAt = startedAt;
  let { context } = needs;
  let samples = 0;
  /** Bytes that the stream has not taken yet. */
  let waiting = 0;
  let nextId = 1;
  /** Of the recogniser's: a sentence that was told, and not yet for good. */
  let openNumber: number | undefined;
  let heardMs = 0;
  let isHeld = false;
  let isFinishing = false;
  let isOver = false;
  /** Pieces are handed on one after another. */
  let writing: Promise<void> = Promise.resolve();

  const close = (reason: unknown): void => {
    isOver = true;
    work.abort(reason);
    void audio.close().catch(() => undefined); // it has failed before, and was told
    if (isHeld) hold(false);
  };

  const end = (what: TaskEnd): void => {
    if (isOver) return;
    close(what.type === 'failed' ? what.error : undefined);
    onEnd(what);
  };

  const fail = (thrown: unknown, failure?: Failure): void => {
    const error = ServiceError.from(thrown);
    end({ type: 'failed', error, failure: failure ?? failureOf(error) });
  };

  const hear = ({ number, isFinal, beginMs, endMs, ...heard }: LiveHeard): void => {
    if (isOver) return;
    const words = cleanWords(heard.words, wish.cleaning);
    const text = words === heard.words ? heard.text : textOf(words);
    // Of what was told already, the end has to be told, too.
    if (text === '' && !(isFinal && openNumber === number)) return;
    heardMs = Math.max(heardMs, endMs);
    lastToldAt = clock.monotonic();
    tell(resultGenerated(id, { id: nextId, text, beginMs, endMs, words, isFinal, seconds: Math.ceil(endMs / 1_000) }));
    openNumber = isFinal ? undefined : number;
    if (isFinal) nextId += 1;
  };

  const live = createLiveRecognition(
    {
      engine,
      wish: {
        id,
        owner: needs.owner,
        languages: wish.languages,
        hotwords,
        wantsWords: true,
        // Read for each call: it may change while somebody speaks.
        get context() {
          return context;
        },
      },
      rules: wish.rules,
      onHeard: hear,
      onFailure: fail,
    },
    work.signal,
  );

  /** Whoever sends faster than can be heard is held back. */
  const regulate = (): void => {
    if (isHeld || isOver || (waiting <= WAITING_BYTES_MAX && live.backlogMs <= REALTIME_BACKLOG_MS_MAX)) return;
    isHeld = true;
    hold(true);
    void writing
      .then(async () => await live.below(REALTIME_BACKLOG_MS_MAX - RELEASE_MS))
      .then(() => {
        if (isOver) return;
        isHeld = false;
        // It was not silent: it was not listened to.
        lastAudioAt = clock.monotonic();
        hold(false);
        regulate();
      });
  };

  const listen = async (): Promise<void> => {
    for await (const event of audio.events) {
      if (isOver) return;
      if (event.type === 'failed') throw new ServiceError('invalid-request', event.reason);
      if (event.type === 'end') break;
      samples += event.samples.length;
      live.push(event.samples);
      regulate();
      // A message that was read already may last for hours once it is decoded: the decoder waits, too.
      if (live.backlogMs > REALTIME_BACKLOG_MS_MAX) await live.below(REALTIME_BACKLOG_MS_MAX);
    }
    if (isOver) return;
    await live.finish();
    end({ type: 'finished' });
  };
  listen().catch(fail);

  const write = (step: () => Promise<void>): void => {
    writing = writing
      .then(async () => {
        if (!isOver) await step();
      })
      .catch((error: unknown) => fail(error));
  };

  return {
    id,
    push(bytes) {
      lastAudioAt = clock.monotonic();
      waiting += bytes.length;
      write(async () => {
        await audio.push(bytes);
        waiting -= bytes.length;
      });
      regulate();
    },
    setContext(next) {
      context = next;
    },
    finish() {
      isFinishing = true;
      write(() => audio.end());
    },
    tick() {
      if (isOver) return;
      const now = clock.monotonic();
      if (now - startedAt >= REALTIME_TASK_MS_MAX) {
        return fail(new ServiceError('timeout', `A recognition may take ${REALTIME_TASK_MS_MAX / 3_600_000} hours.`));
      }
      if (isFinishing || isHeld) return;
      if (wish.hasHeartbeat) {
        if (now - lastToldAt < REALTIME_HEARTBEAT_MS) return;
        lastToldAt = now;
        tell(heartbeat(id, { id: nextId, beginMs: heardMs }));
      } else if (now - lastAudioAt >= REALTIME_SILENCE_MS_MAX) {
        const failure = silenceFailure(REALTIME_SILENCE_MS_MAX);
        fail(new ServiceError('invalid-request', failure.message), failure);
      }
    },
    abort(reason) {
      if (!isOver) close(reason);
    },
    facts: () => ({ audioMs: Math.round((samples * 1_000) / SPEECH_SAMPLE_RATE), sentences: nextId - 1 }),
  };
}
