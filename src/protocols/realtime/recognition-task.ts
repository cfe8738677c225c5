import { ServiceError } from '../../core/error.ts';
import {
  REALTIME_AUDIO_BYTES_MAX,
  REALTIME_BACKLOG_MS_MAX,
  REALTIME_HEARTBEAT_MS,
  REALTIME_SILENCE_MS_MAX,
  REALTIME_TASK_MS_MAX,
} from './limits.ts';
import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';
import type { Hotword } from '../../core/speech.ts';
import type { EngineOwner } from '../../engines/engine.ts';
import type { SpeechEngine } from '../../engines/speech-engine.ts';
import type { Clock } from '../../lib/clock.ts';
import { formatWords } from '../../transcription/format-words.ts';
import { createLiveRecognition } from '../../transcription/live-recognition.ts';
import type { LiveTranscript } from '../../transcription/live-recognition.ts';
import { joinWords } from '../../transcription/split-sentences.ts';
import type { RealtimeAudioStream } from './realtime-audio-stream.ts';
import { toTaskFailure, encodeHeartbeat, encodeResultGenerated, createSilenceFailure } from './encode-event.ts';
import type { TaskFailure } from './encode-event.ts';
import type { RealtimeRecognitionOptions } from './recognition-options.ts';

/** Outcome of a recognition. */
export type RecognitionOutcome =
  | { readonly type: 'finished' }
  | { readonly type: 'failed'; readonly failure: TaskFailure; readonly error: ServiceError };

export interface RecognitionTaskDeps {
  readonly id: string;
  readonly owner: EngineOwner;
  readonly options: RealtimeRecognitionOptions;
  /** All hotwords, of the vocabulary and of the task itself. */
  readonly hotwords: readonly Hotword[];
  readonly context: string;
  readonly engine: SpeechEngine;
  readonly audio: RealtimeAudioStream;
  readonly clock: Clock;
  readonly sendEvent: (event: string) => void;
  /** Pauses or resumes reading from the connection. */
  readonly setReadingPaused: (isPaused: boolean) => void;
  /** Called once; not after an abort. */
  readonly onEnd: (outcome: RecognitionOutcome) => void;
}

/** One recognition, from task-started to its end. */
export interface RecognitionTask {
  readonly id: string;
  push(bytes: Uint8Array): void;
  /** Replaces the context, for the audio from now on. */
  setContext(context: string): void;
  /** Marks the end of the audio. */
  finish(): void;
  tick(): void;
  /** Ends the recognition without sending an event. */
  abort(reason: ServiceError): void;
  getLogFields(): { readonly audioMs: number; readonly sentences: number };
}

/** Maximum bytes that wait for the decoder: one message of the maximum size. */
const WAITING_BYTES_MAX = REALTIME_AUDIO_BYTES_MAX;

/** Reading resumes when the backlog is this much below its limit, in ms, so that it does not toggle at once. */
const RESUME_MARGIN_MS = 2_000;

export function createRecognitionTask({
  id,
  options,
  hotwords,
  engine,
  audio,
  clock,
  sendEvent,
  setReadingPaused,
  onEnd,
  ...deps
}: RecognitionTaskDeps): RecognitionTask {
  const abortController = new AbortController();
  const startedAt = clock.monotonic();
  let lastAudioAt = startedAt;
  let lastSentAt = startedAt;
  let { context } = deps;
  let sampleCount = 0;
  /** Bytes that the audio stream has not accepted yet. */
  let waitingBytes = 0;
  let nextSentenceId = 1;
  /** Recognizer's number of a sentence that was sent but is not final yet. */
  let openSentenceNumber: number | undefined;
  let recognizedMs = 0;
  let isReadingPaused = false;
  let isFinishing = false;
  let isClosed = false;
  /** Settles when all bytes so far have been written, in order. */
  let pendingWrites: Promise<void> = Promise.resolve();

  const close = (reason: unknown): void => {
    isClosed = true;
    abortController.abort(reason);
    void audio.close().catch(() => undefined); // a failure of the stream has been reported already
    if (isReadingPaused) setReadingPaused(false);
  };

  const endWith = (outcome: RecognitionOutcome): void => {
    if (isClosed) return;
    close(outcome.type === 'failed' ? outcome.error : undefined);
    onEnd(outcome);
  };

  const fail = (thrown: unknown, failure?: TaskFailure): void => {
    const error = ServiceError.from(thrown);
    endWith({ type: 'failed', error, failure: failure ?? toTaskFailure(error) });
  };

  const handleResult = ({ number, isFinal, beginMs, endMs, ...transcript }: LiveTranscript): void => {
    if (isClosed) return;
    const words = formatWords(transcript.words, options.formatOptions);
    const text = words === transcript.words ? transcript.text : joinWords(words);
    // A sentence that was sent before needs its final event, even without text.
    if (text === '' && !(isFinal && openSentenceNumber === number)) return;
    recognizedMs = Math.max(recognizedMs, endMs);
    lastSentAt = clock.monotonic();
    sendEvent(
      encodeResultGenerated(id, {
        id: nextSentenceId,
        text,
        beginMs,
        endMs,
        words,
        isFinal,
        seconds: Math.ceil(endMs / 1_000),
      }),
    );
    openSentenceNumber = isFinal ? undefined : number;
    if (isFinal) nextSentenceId += 1;
  };

  const live = createLiveRecognition(
    {
      engine,
      request: {
        id,
        owner: deps.owner,
        languages: options.languages,
        hotwords,
        includeWords: true,
        // A getter, because the context may change during the recognition.
        get context() {
          return context;
        },
      },
      options: options.rules,
      onTranscript: handleResult,
      onFailure: fail,
    },
    abortController.signal,
  );

  /** Pauses reading from a client that sends faster than the audio is recognized. */
  const updateBackpressure = (): void => {
    if (isReadingPaused || isClosed || (waitingBytes <= WAITING_BYTES_MAX && live.backlogMs <= REALTIME_BACKLOG_MS_MAX))
      return;
    isReadingPaused = true;
    setReadingPaused(true);
    void pendingWrites
      .then(async () => await live.waitForBacklogBelow(REALTIME_BACKLOG_MS_MAX - RESUME_MARGIN_MS))
      .then(() => {
        if (isClosed) return;
        isReadingPaused = false;
        // The time without audio counts from here: Parley was not reading.
        lastAudioAt = clock.monotonic();
        setReadingPaused(false);
        updateBackpressure();
      });
  };

  const recognizeAudio = async (): Promise<void> => {
    for await (const event of audio.events) {
      if (isClosed) return;
      if (event.type === 'failed') throw new ServiceError('invalid-request', event.reason);
      if (event.type === 'end') break;
      sampleCount += event.samples.length;
      live.push(event.samples);
      updateBackpressure();
      // One message may decode to hours of audio, so decoding waits too.
      if (live.backlogMs > REALTIME_BACKLOG_MS_MAX) await live.waitForBacklogBelow(REALTIME_BACKLOG_MS_MAX);
    }
    if (isClosed) return;
    await live.finish();
    endWith({ type: 'finished' });
  };
  recognizeAudio().catch(fail);

  const enqueueWrite = (step: () => Promise<void>): void => {
    pendingWrites = pendingWrites
      .then(async () => {
        if (!isClosed) await step();
      })
      .catch((error: unknown) => fail(error));
  };

  return {
    id,
    push(bytes) {
      lastAudioAt = clock.monotonic();
      waitingBytes += bytes.length;
      enqueueWrite(async () => {
        await audio.push(bytes);
        waitingBytes -= bytes.length;
      });
      updateBackpressure();
    },
    setContext(next) {
      context = next;
    },
    finish() {
      isFinishing = true;
      enqueueWrite(() => audio.end());
    },
    tick() {
      if (isClosed) return;
      const now = clock.monotonic();
      if (now - startedAt >= REALTIME_TASK_MS_MAX) {
        return fail(
          new ServiceError('timeout', `A recognition may take at most ${REALTIME_TASK_MS_MAX / 3_600_000} hours.`),
        );
      }
      if (isFinishing || isReadingPaused) return;
      if (options.hasHeartbeat) {
        if (now - lastSentAt < REALTIME_HEARTBEAT_MS) return;
        lastSentAt = now;
        sendEvent(encodeHeartbeat(id, { id: nextSentenceId, beginMs: recognizedMs }));
      } else if (now - lastAudioAt >= REALTIME_SILENCE_MS_MAX) {
        const failure = createSilenceFailure(REALTIME_SILENCE_MS_MAX);
        fail(new ServiceError('invalid-request', failure.message), failure);
      }
    },
    abort(reason) {
      if (!isClosed) close(reason);
    },
    getLogFields: () => ({
      audioMs: Math.round((sampleCount * 1_000) / SPEECH_SAMPLE_RATE),
      sentences: nextSentenceId - 1,
    }),
  };
}
