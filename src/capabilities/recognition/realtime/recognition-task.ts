import { ServiceError } from '../../../core/error.ts';
import {
  REALTIME_AUDIO_BYTES_MAX,
  REALTIME_BACKLOG_MS_MAX,
  REALTIME_SILENCE_MS_MAX,
  REALTIME_TASK_MS_MAX,
} from './limits.ts';
import { SPEECH_SAMPLE_RATE } from '../../../core/speech.ts';
import type { Hotword } from '../../../core/speech.ts';
import type { EngineOwner } from '../../../engines/engine.ts';
import type { SpeechEngine } from '../../../engines/speech-engine.ts';
import type { Clock } from '../../../lib/clock.ts';
import { createLiveRecognition } from '../transcription/live-recognition.ts';
import type { LiveRecognition, LiveTranscript } from '../transcription/live-recognition.ts';
import type { RecognitionOptions } from '../transcription/transcribe.ts';
import type { RealtimeAudioStream } from '../transcription/realtime-audio-stream.ts';
import { toTaskFailure, encodeHeartbeat, encodeResultGenerated, createSilenceFailure } from './encode-event.ts';
import type { TaskFailure } from './encode-event.ts';
import type { RealtimeRecognitionOptions } from './recognition-options.ts';
import { findDueEvent } from './recognition-times.ts';
import type { RecognitionTimes } from './recognition-times.ts';
import { addTranscript, NO_SENTENCES } from './sentence-progress.ts';

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

/** Maximum bytes that wait for the decoder: one message of the maximum size. */
const WAITING_BYTES_MAX = REALTIME_AUDIO_BYTES_MAX;

/** Reading resumes when the backlog is this much below its limit, in ms, so that it does not toggle at once. */
const RESUME_MARGIN_MS = 2_000;

/** One recognition, from task-started to its end. */
export class RecognitionTask {
  private readonly deps: RecognitionTaskDeps;
  private readonly live: LiveRecognition;
  private readonly abortController = new AbortController();
  private times: RecognitionTimes;
  private sentences = NO_SENTENCES;
  /** Mutable, because the context may change during the recognition. */
  private readonly request: RecognitionOptions & { context: string };
  private sampleCount = 0;
  /** Bytes that the audio stream has not accepted yet. */
  private waitingBytes = 0;
  private isReadingPaused = false;
  private isFinishing = false;
  private isClosed = false;
  /** Settles when all bytes so far have been written, in order. */
  private pendingWrites: Promise<void> = Promise.resolve();

  constructor(deps: RecognitionTaskDeps) {
    this.deps = deps;
    const { id, owner, options, hotwords, context } = deps;
    this.request = { id, owner, languages: options.languages, hotwords, includeWords: true, context };
    const now = deps.clock.monotonic();
    this.times = { startedAt: now, lastAudioAt: now, lastSentAt: now };
    this.live = createLiveRecognition(
      {
        engine: deps.engine,
        request: this.request,
        options: options.rules,
        onTranscript: (transcript) => this.sendTranscript(transcript),
        onFailure: (error) => this.fail(error),
      },
      this.abortController.signal,
    );
    this.recognizeAudio().catch((error: unknown) => this.fail(error));
  }

  push(bytes: Uint8Array): void {
    this.recordTime('lastAudioAt');
    this.waitingBytes += bytes.length;
    this.enqueueWrite(async () => {
      await this.deps.audio.push(bytes);
      this.waitingBytes -= bytes.length;
    });
    this.updateBackpressure();
  }

  /** Replaces the context, for the audio from now on. */
  setContext(context: string): void {
    this.request.context = context;
  }

  /** Marks the end of the audio. */
  finish(): void {
    this.isFinishing = true;
    this.enqueueWrite(() => this.deps.audio.end());
  }

  tick(): void {
    if (this.isClosed) return;
    const { clock, options, sendEvent } = this.deps;
    const isAudioExpected = !this.isFinishing && !this.isReadingPaused;
    const dueEvent = findDueEvent(this.times, { ...options, now: clock.monotonic(), isAudioExpected });
    if (dueEvent === 'overlong') {
      const hours = REALTIME_TASK_MS_MAX / 3_600_000;
      this.fail(new ServiceError('timeout', `A recognition may take at most ${hours} hours.`));
    } else if (dueEvent === 'silent') {
      const failure = createSilenceFailure(REALTIME_SILENCE_MS_MAX);
      this.fail(new ServiceError('invalid-request', failure.message), failure);
    } else if (dueEvent === 'heartbeat') {
      this.recordTime('lastSentAt');
      const { nextId, recognizedMs } = this.sentences;
      sendEvent(encodeHeartbeat(this.deps.id, { id: nextId, beginMs: recognizedMs }));
    }
  }

  /** Ends the recognition without sending an event. */
  abort(reason: ServiceError): void {
    if (!this.isClosed) this.close(reason);
  }

  getLogFields(): { readonly audioMs: number; readonly sentences: number } {
    return {
      audioMs: Math.round((this.sampleCount * 1_000) / SPEECH_SAMPLE_RATE),
      sentences: this.sentences.nextId - 1,
    };
  }

  private recordTime(name: 'lastAudioAt' | 'lastSentAt'): void {
    this.times = { ...this.times, [name]: this.deps.clock.monotonic() };
  }

  private sendTranscript(transcript: LiveTranscript): void {
    if (this.isClosed) return;
    const added = addTranscript(this.sentences, transcript, this.deps.options.formatOptions);
    if (!added) return;
    this.recordTime('lastSentAt');
    this.deps.sendEvent(encodeResultGenerated(this.deps.id, added.result));
    this.sentences = added.progress;
  }

  private async recognizeAudio(): Promise<void> {
    const { live } = this;
    for await (const event of this.deps.audio.events) {
      if (this.isClosed) return;
      if (event.type === 'failed') throw new ServiceError('invalid-request', event.reason);
      if (event.type === 'end') break;
      this.sampleCount += event.samples.length;
      live.push(event.samples);
      this.updateBackpressure();
      // One message may decode to hours of audio, so decoding waits too.
      if (live.backlogMs > REALTIME_BACKLOG_MS_MAX) await live.waitForBacklogBelow(REALTIME_BACKLOG_MS_MAX);
    }
    if (this.isClosed) return;
    await live.finish();
    this.endWith({ type: 'finished' });
  }

  private enqueueWrite(step: () => Promise<void>): void {
    this.pendingWrites = this.pendingWrites
      .then(async () => {
        if (!this.isClosed) await step();
      })
      .catch((error: unknown) => this.fail(error));
  }

  /** Pauses reading from a client that sends faster than the audio is recognized. */
  private updateBackpressure(): void {
    if (this.isReadingPaused || this.isClosed) return;
    if (this.waitingBytes <= WAITING_BYTES_MAX && this.live.backlogMs <= REALTIME_BACKLOG_MS_MAX) return;
    this.isReadingPaused = true;
    this.deps.setReadingPaused(true);
    void this.resumeReading();
  }

  private async resumeReading(): Promise<void> {
    await this.pendingWrites;
    await this.live.waitForBacklogBelow(REALTIME_BACKLOG_MS_MAX - RESUME_MARGIN_MS);
    if (this.isClosed) return;
    this.isReadingPaused = false;
    // The time without audio counts from here: Parley was not reading.
    this.recordTime('lastAudioAt');
    this.deps.setReadingPaused(false);
    this.updateBackpressure();
  }

  private fail(thrown: unknown, failure?: TaskFailure): void {
    const error = ServiceError.from(thrown);
    this.endWith({ type: 'failed', error, failure: failure ?? toTaskFailure(error) });
  }

  private endWith(outcome: RecognitionOutcome): void {
    if (this.isClosed) return;
    this.close(outcome.type === 'failed' ? outcome.error : undefined);
    this.deps.onEnd(outcome);
  }

  private close(reason: unknown): void {
    this.isClosed = true;
    this.abortController.abort(reason);
    void this.deps.audio.close().catch(() => undefined); // a failure of the stream has been reported already
    if (this.isReadingPaused) this.deps.setReadingPaused(false);
  }
}
