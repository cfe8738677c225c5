import type { HeardWord } from '../core/speech.ts';
import type { Recognition, SpeechEngine } from '../engines/speech-engine.ts';
import { createSampleWindow } from './sample-window.ts';
import { sentencesOf } from './sentences.ts';
import { isSaid, movedBy } from './transcribe.ts';
import type { TranscriptionWish } from './transcribe.ts';
import { MARGIN_MS, SHORTEST_MS, msOf, samplesOf } from './speech-time.ts';
import { createVoiceFrames } from './voice-frames.ts';
import { createVoiceStretches } from './voice-stretches.ts';
import type { OpenStretch, Stretch } from './voice-stretches.ts';

/** What was heard of one stretch of speech, so far or for good. Times in ms from the beginning of the audio. */
export interface LiveHeard {
  /** Counts from 1; all that is heard of one stretch has the same. */
  readonly number: number;
  readonly isFinal: boolean;
  readonly beginMs: number;
  readonly endMs: number;
  readonly text: string;
  readonly language: string;
  readonly words: readonly HeardWord[];
}

export interface LiveRules {
  /** Silence that ends a sentence, in ms. */
  readonly pauseMs: number;
  /** What was heard so far is told once in as much audio, in ms, and at every short pause. */
  readonly partialMs: number;
  /** Punctuation ends sentences, too: what is final may be several. */
  readonly splitsSentences?: boolean;
}

export interface LiveRecognition {
  /** Takes audio, and never waits. */
  push(samples: Float32Array): void;
  /** Audio that nobody has listened to yet, in ms: who sends faster than can be heard has to be held back. */
  readonly backlogMs: number;
  /** Resolves when less than this is left to hear, or it has ended. */
  below(backlogMs: number): Promise<void>;
  /** No audio comes any more. Resolves when all of it was heard. @throws what the engine failed with. */
  finish(): Promise<void>;
}

interface LiveNeeds {
  readonly engine: SpeechEngine;
  readonly wish: TranscriptionWish;
  readonly rules: LiveRules;
  /** Hears everything in its order; a final one comes last of its number. */
  readonly onHeard: (heard: LiveHeard) => void;
  /** It has ended before its time; nothing comes any more. Not for an abort. */
  readonly onFailure: (cause: unknown) => void;
}

/** Silence after which what was said so far is worth being told. */
const SHORT_PAUSE_MS = 300;

/** What is heard so far is not told while more than this waits: finals come first. */
const PARTIAL_BACKLOG_MS_MAX = 3_000;

/** Hears speech while it is spoken. */
export function createLiveRecognition(needs: LiveNeeds, signal: AbortSignal): LiveRecognition {
  const { engine, wish, rules, onHeard, onFailure } = needs;
  const samples = createSampleWindow();
  const incoming: Float32Array[] = [];
  let heardUpTo = 0;
  let received = 0;
  let isFinished = false;
  let wake = (): void => undefined;
  let waiting: { readonly backlogMs: number; readonly resolve: () => void }[] = [];

  const backlogMs = (): number => msOf(received - heardUpTo);
  const release = (limit = backlogMs()): void => {
    const ready = waiting.filter((each) => limit < each.backlogMs);
    waiting = waiting.filter((each) => limit >= each.backlogMs);
    for (const { resolve } of ready) resolve();
  };

  const listen = async (): Promise<void> => {
    const { samplesMax } = await engine.model();
    const voice = createVoiceFrames(engine, signal);
    const stretches = createVoiceStretches({
      pause: samplesOf(rules.pauseMs),
      longest: samplesMax,
      margin: Math.min(samplesOf(MARGIN_MS), samplesOf(rules.pauseMs)),
      shortest: samplesOf(SHORTEST_MS),
    });
    let number = 1;
    /** The last time that an open stretch was heard. */
    let partial: (OpenStretch & { readonly heard: Recognition; readonly end: number }) | undefined;

    const recognize = async ({ begin, end }: Stretch): Promise<Recognition> =>
      await engine.recognize({ ...wish, samples: samples.slice(begin, end) }, signal);

    const tellFinal = (stretch: Stretch, heard: Recognition): void => {
      const sentences = rules.splitsSentences ? sentencesOf(heard, { pauseMs: rules.pauseMs }) : [];
      for (const part of sentences.length > 0 ? sentences : [heard]) {
        tell(stretch, { ...heard, text: part.text, words: part.words }, true);
        number += 1;
      }
    };

    const tell = (stretch: Stretch, heard: Recognition, isFinal: boolean): void => {
      const beginMs = msOf(stretch.begin);
      const words = movedBy(heard.words, beginMs);
      const { text, language } = heard;
      onHeard({
        number,
        isFinal,
        beginMs: words[0]?.beginMs ?? beginMs,
        endMs: words.at(-1)?.endMs ?? msOf(stretch.end),
        text,
        language,
        words,
      });
    };

    const finals = async (closed: readonly Stretch[]): Promise<void> => {
      for (const stretch of closed) {
        // What is in it was heard already, and nothing else, where only silence followed.
        const isHeard =
          partial?.begin === stretch.begin && partial.end >= stretch.end && partial.voiceEnd <= stretch.end;
        const heard = isHeard && partial ? partial.heard : await recognize(stretch);
        const wasTold = partial?.begin === stretch.begin;
        partial = undefined;
        if (isSaid(heard) || wasTold) tellFinal(stretch, heard);
      }
    };

    const partialOf = async (open: OpenStretch): Promise<void> => {
      const end = samples.end;
      const since = partial?.begin === open.begin ? partial.end : open.begin;
      const isLong = end - since >= samplesOf(rules.partialMs);
      const isPause = end - open.voiceEnd >= samplesOf(SHORT_PAUSE_MS) && open.voiceEnd > since;
      if (!(isLong || isPause) || backlogMs() > PARTIAL_BACKLOG_MS_MAX) return;
      const heard = await recognize({ begin: open.begin, end });
      if (!isSaid(heard)) return;
      partial = { ...open, heard, end };
      tell({ begin: open.begin, end }, heard, false);
    };

    for (;;) {
      signal.throwIfAborted();
      const block = incoming.shift();
      if (block) {
        samples.append(block);
        for (const probabilities of await voice.push(block)) await finals(stretches.push(probabilities));
        if (stretches.open && incoming.length === 0) await partialOf(stretches.open);
        samples.forget(stretches.settled);
        heardUpTo = samples.end;
        release();
      } else if (isFinished) {
        break;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    for (const probabilities of await voice.finish()) await finals(stretches.push(probabilities));
    await finals(stretches.finish());
  };

  const awake = (): void => wake();
  signal.addEventListener('abort', awake, { once: true });
  const listened = listen().finally(() => {
    signal.removeEventListener('abort', awake);
    release(-1);
    isFinished = true;
  });
  listened.catch((cause: unknown) => {
    if (!signal.aborted) onFailure(cause);
  });

  return {
    push(block) {
      if (isFinished || block.length === 0) return;
      received += block.length;
      incoming.push(block);
      wake();
    },
    get backlogMs() {
      return backlogMs();
    },
    below: async (limit) => {
      if (isFinished || backlogMs() < limit) return;
      await new Promise<void>((resolve) => waiting.push({ backlogMs: limit, resolve }));
    },
    async finish() {
      isFinished = true;
      wake();
      await listened;
    },
  };
}
