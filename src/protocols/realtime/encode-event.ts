import type { ServiceError } from '../../core/error.ts';
import type { HeardWord } from '../../core/speech.ts';
import { nativeWordsOf } from '../families.ts';
import { ignoredHeader } from '../ignored.ts';

/*
 * wire.md E7.3, from server to client. Every event has an object as its payload, each sentence its end_time and each
 * result its usage, null where there is nothing yet: real clients fail without them (wire.md section 11, 6, 22, 23).
 */

/** A sentence as far as it was heard. Times in ms from the beginning of the audio. */
export interface ToldSentence {
  /** Counts from 1. */
  readonly id: number;
  readonly text: string;
  readonly beginMs: number;
  readonly endMs: number;
  readonly words: readonly HeardWord[];
  readonly isFinal: boolean;
  /** Whole seconds of audio that were heard so far. */
  readonly seconds: number;
}

/** @param ignored What was asked for and is not done. There is no header after the upgrade, so it stands here. */
export const taskStarted = (taskId: string, ignored: readonly string[]): string =>
  event(taskId, 'task-started', {}, ignoredHeader(ignored));

export const resultGenerated = (taskId: string, told: ToldSentence): string =>
  event(taskId, 'result-generated', {
    output: {
      sentence: {
        begin_time: told.beginMs,
        end_time: told.isFinal ? told.endMs : null,
        text: told.text,
        heartbeat: false,
        sentence_end: told.isFinal,
        sentence_id: told.id,
        words: told.words.map(({ beginMs, endMs, text, punctuation }) => ({
          begin_time: beginMs,
          end_time: endMs,
          text,
          punctuation,
        })),
      },
    },
    usage: told.isFinal ? { duration: told.seconds } : null,
  });

/** A sign of life, in the shape of a sentence of which nothing was heard. @param id Of the next sentence. */
export const heartbeat = (taskId: string, { id, beginMs }: { readonly id: number; readonly beginMs: number }): string =>
  event(taskId, 'result-generated', {
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

export const taskFinished = (taskId: string): string => event(taskId, 'task-finished', { output: {}, usage: null });

export interface Failure {
  readonly code: string;
  readonly message: string;
}

export const failureOf = (error: ServiceError): Failure => nativeWordsOf(error);

/** wire.md E7.3, with the text that clients know. */
export const silenceFailure = (ms: number): Failure => ({
  code: 'CLIENT_ERROR',
  message: `request timeout after ${ms / 1_000} seconds.`,
});

export const taskFailed = (taskId: string, { code, message }: Failure): string =>
  JSON.stringify({
    header: { task_id: taskId, event: 'task-failed', error_code: code, error_message: message, attributes: {} },
    payload: {},
  });

const event = (taskId: string, name: string, payload: object, attributes: object = {}): string =>
  JSON.stringify({ header: { task_id: taskId, event: name, attributes }, payload });
