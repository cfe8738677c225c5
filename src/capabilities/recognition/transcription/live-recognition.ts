import type { RecognizedWord } from '../../../core/speech.ts';
import type { Recognition, SpeechEngine } from '../../../engines/speech-engine.ts';
import { createSampleWindow } from './sample-window.ts';
import { splitTranscript } from './split-sentences.ts';
import { hasSpeech, shiftWords } from './transcribe.ts';
import type { RecognitionOptions } from './transcribe.ts';
import { SEGMENT_MARGIN_MS, VOICE_MS_MIN, samplesToMs, msToSamples } from './speech-time.ts';
import { createVoiceFrameDetector } from './voice-frame-detector.ts';
import { createSegmentDetector } from './segment-detector.ts';
import type { OpenSegment, SpeechSegment } from './segment-detector.ts';

/** Partial or final transcript of a speech segment. Times in ms from the start of the audio. */
export interface LiveTranscript {
  /** Number of the segment, from 1. */
  readonly number: number;
  readonly isFinal: boolean;
  readonly beginMs: number;
  readonly endMs: number;
  readonly text: string;
  readonly language: string;
  readonly words: readonly RecognizedWord[];
}

export interface LiveRecognitionOptions {
  /** Silence that ends a sentence, in ms. */
  readonly pauseMs: number;
  /** Interval of partial transcripts in ms of audio; one is also made at every short pause. */
  readonly partialIntervalMs: number;
  /** Punctuation ends sentences, too: a segment may have several final transcripts. */
  readonly splitsSentences?: boolean;
}

export interface LiveRecognition {
  /** Adds audio. Never waits. */
  push(samples: Float32Array): void;
  /** Audio that is not processed yet, in ms. Senders that are faster than recognition must be paused. */
  readonly backlogMs: number;
  /** Resolves when the backlog is below this value in ms, or the recognition has ended. */
  waitForBacklogBelow(backlogMs: number): Promise<void>;
  /** Declares the end of the audio, and resolves when all of it is processed. @throws the error of the engine. */
  finish(): Promise<void>;
}

interface LiveRecognitionDeps {
  readonly engine: SpeechEngine;
  readonly request: RecognitionOptions;
  readonly options: LiveRecognitionOptions;
  /** Called for each transcript in order; the final one of a segment comes last. */
  readonly onTranscript: (transcript: LiveTranscript) => void;
  /** Called if the recognition failed; no transcript follows. Not called for an abort. */
  readonly onFailure: (cause: unknown) => void;
}

/** Silence after which a partial transcript is made, in ms. */
const SHORT_PAUSE_MS = 300;

/** Above this backlog, no partial transcripts are made, because final ones have priority. */
const PARTIAL_BACKLOG_MS_MAX = 3_000;

/** Recognizes speech while it is spoken. */
export function createLiveRecognition(deps: LiveRecognitionDeps, signal: AbortSignal): LiveRecognition {
  const { engine, request, options, onTranscript, onFailure } = deps;
  const samples = createSampleWindow();
  const incoming: Float32Array[] = [];
  let processedSamples = 0;
  let receivedSamples = 0;
  let isFinished = false;
  let wake = (): void => undefined;
  let waiting: { readonly backlogMs: number; readonly resolve: () => void }[] = [];

  const backlogMs = (): number => samplesToMs(receivedSamples - processedSamples);
  const resolveWaiting = (limit = backlogMs()): void => {
    const reached = waiting.filter((each) => limit < each.backlogMs);
    waiting = waiting.filter((each) => limit >= each.backlogMs);
    for (const { resolve } of reached) resolve();
  };

  const processAudio = async (): Promise<void> => {
    const { samplesMax } = await engine.loadModel();
    const voice = createVoiceFrameDetector(engine, signal);
    const segments = createSegmentDetector({
      pauseSamples: msToSamples(options.pauseMs),
      samplesMax,
      marginSamples: Math.min(msToSamples(SEGMENT_MARGIN_MS), msToSamples(options.pauseMs)),
      voiceSamplesMin: msToSamples(VOICE_MS_MIN),
    });
    let segmentNumber = 1;
    /** The last partial recognition of the open segment. */
    let partial: (OpenSegment & { readonly recognition: Recognition; readonly end: number }) | undefined;

    const recognize = async ({ start, end }: SpeechSegment): Promise<Recognition> =>
      await engine.recognize({ ...request, samples: samples.slice(start, end), isLive: true }, signal);

    const emitFinal = (segment: SpeechSegment, recognition: Recognition): void => {
      const sentences = options.splitsSentences ? splitTranscript(recognition, { pauseMs: options.pauseMs }) : [];
      for (const part of sentences.length > 0 ? sentences : [recognition]) {
        emit(segment, { ...recognition, text: part.text, words: part.words }, true);
        segmentNumber += 1;
      }
    };

    const emit = (segment: SpeechSegment, recognition: Recognition, isFinal: boolean): void => {
      const beginMs = samplesToMs(segment.start);
      const words = shiftWords(recognition.words, beginMs);
      const { text, language } = recognition;
      onTranscript({
        number: segmentNumber,
        isFinal,
        beginMs: words[0]?.beginMs ?? beginMs,
        endMs: words.at(-1)?.endMs ?? samplesToMs(segment.end),
        text,
        language,
        words,
      });
    };

    const recognizeFinals = async (closed: readonly SpeechSegment[]): Promise<void> => {
      for (const segment of closed) {
        // Reuse the partial recognition if only silence followed it.
        const isRecognized =
          partial?.start === segment.start && partial.end >= segment.end && partial.voiceEnd <= segment.end;
        const recognition = isRecognized && partial ? partial.recognition : await recognize(segment);
        const wasEmitted = partial?.start === segment.start;
        partial = undefined;
        if (hasSpeech(recognition) || wasEmitted) emitFinal(segment, recognition);
      }
    };

    const recognizePartial = async (open: OpenSegment): Promise<void> => {
      const end = samples.end;
      const since = partial?.start === open.start ? partial.end : open.start;
      const isLong = end - since >= msToSamples(options.partialIntervalMs);
      const isPause = end - open.voiceEnd >= msToSamples(SHORT_PAUSE_MS) && open.voiceEnd > since;
      if (!(isLong || isPause) || backlogMs() > PARTIAL_BACKLOG_MS_MAX) return;
      const recognition = await recognize({ start: open.start, end });
      if (!hasSpeech(recognition)) return;
      partial = { ...open, recognition, end };
      emit({ start: open.start, end }, recognition, false);
    };

    for (;;) {
      signal.throwIfAborted();
      const block = incoming.shift();
      if (block) {
        samples.append(block);
        for (const probabilities of await voice.push(block)) await recognizeFinals(segments.push(probabilities));
        if (segments.open && incoming.length === 0) await recognizePartial(segments.open);
        samples.discardBefore(segments.settledSamples);
        processedSamples = samples.end;
        resolveWaiting();
      } else if (isFinished) {
        break;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    for (const probabilities of await voice.finish()) await recognizeFinals(segments.push(probabilities));
    await recognizeFinals(segments.finish());
  };

  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  const processing = processAudio().finally(() => {
    signal.removeEventListener('abort', onAbort);
    resolveWaiting(-1);
    isFinished = true;
  });
  processing.catch((cause: unknown) => {
    if (!signal.aborted) onFailure(cause);
  });

  return {
    push(block) {
      if (isFinished || block.length === 0) return;
      receivedSamples += block.length;
      incoming.push(block);
      wake();
    },
    get backlogMs() {
      return backlogMs();
    },
    waitForBacklogBelow: async (limit) => {
      if (isFinished || backlogMs() < limit) return;
      await new Promise<void>((resolve) => waiting.push({ backlogMs: limit, resolve }));
    },
    async finish() {
      isFinished = true;
      wake();
      await processing;
    },
  };
}
