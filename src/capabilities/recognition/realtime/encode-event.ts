import type { ServiceError } from '../../../core/error.ts';
import type { RecognizedWord } from '../../../core/speech.ts';
import { encodeCodeAndMessage } from '../../../protocols/native/errors.ts';
import { encodeIgnoredHeader } from '../../../protocols/ignored-header.ts';

/*
 * Events from server to client (docs/wire/realtime.md#recognition-messages). Every event has an object as payload,
 * every sentence an end_time and every result a usage, null if unknown: real clients fail without them
 * (docs/wire/clients.md#client-pitfalls).
 */

/** A sentence as recognized so far. Times are in ms from the start of the audio. */
export interface SentenceResult {
  /** Number of the sentence, from 1. */
  readonly id: number;
  readonly text: string;
  readonly beginMs: number;
  readonly endMs: number;
  readonly words: readonly RecognizedWord[];
  readonly isFinal: boolean;
  /** Seconds of audio recognized so far, rounded up. */
  readonly seconds: number;
}

/** @param ignored Parameters without effect. After the upgrade there are no headers, so the event carries them. */
export const encodeTaskStarted = (taskId: string, ignored: readonly string[]): string =>
  encodeEvent(taskId, 'task-started', {}, encodeIgnoredHeader(ignored));

export const encodeResultGenerated = (taskId: string, result: SentenceResult): string =>
  encodeEvent(taskId, 'result-generated', {
    output: {
      sentence: {
        begin_time: result.beginMs,
        end_time: result.isFinal ? result.endMs : null,
        text: result.text,
        heartbeat: false,
        sentence_end: result.isFinal,
        sentence_id: result.id,
        words: result.words.map(({ beginMs, endMs, text, punctuation }) => ({
          begin_time: beginMs,
          end_time: endMs,
          text,
          punctuation,
        })),
      },
    },
    usage: result.isFinal ? { duration: result.seconds } : null,
  });

/** Encodes a heartbeat, which has the form of an empty sentence. @param id Number of the next sentence. */
export const encodeHeartbeat = (
  taskId: string,
  { id, beginMs }: { readonly id: number; readonly beginMs: number },
): string =>
  encodeEvent(taskId, 'result-generated', {
    output: {
      sentence: {
        begin_time: beginMs,
        end_time: null,
        text: '',
        heartbeat: true,
        sentence_end: false,
        sentence_id: id,
        words: [],
      },
    },
    usage: null,
  });

export const encodeTaskFinished = (taskId: string): string =>
  encodeEvent(taskId, 'task-finished', { output: {}, usage: null });

export interface TaskFailure {
  readonly code: string;
  readonly message: string;
}

export const toTaskFailure = (error: ServiceError): TaskFailure => encodeCodeAndMessage(error);

/**
 * Creates the failure for missing audio; code and text are known to clients
 * (docs/wire/realtime.md#recognition-messages).
 */
export const createSilenceFailure = (ms: number): TaskFailure => ({
  code: 'CLIENT_ERROR',
  message: `request timeout after ${ms / 1_000} seconds.`,
});

export const encodeTaskFailed = (taskId: string, { code, message }: TaskFailure): string =>
  JSON.stringify({
    header: { task_id: taskId, event: 'task-failed', error_code: code, error_message: message, attributes: {} },
    payload: {},
  });

const encodeEvent = (taskId: string, name: string, payload: object, attributes: object = {}): string =>
  JSON.stringify({ header: { task_id: taskId, event: name, attributes }, payload });
