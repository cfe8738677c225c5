import { VOICE_FRAME_SAMPLES } from '../../../engines/speech-engine.ts';

/** Options of the segment detection; all in samples. */
export interface SegmentDetectorOptions {
  /** Silence that ends a segment. */
  readonly pauseSamples: number;
  /** Maximum length. A longer segment is cut at its lowest voice probability. */
  readonly samplesMax: number;
  /** Silence that is kept before and after speech. */
  readonly marginSamples: number;
  /** Segments with less voice are discarded as noise. */
  readonly voiceSamplesMin: number;
}

/** Samples from `start` to before `end`, counted from the start of the audio. */
export interface SpeechSegment {
  readonly start: number;
  readonly end: number;
}

/** A segment that has not ended. */
export interface OpenSegment {
  readonly start: number;
  /** End of its last voiced frame. */
  readonly voiceEnd: number;
}

export interface SegmentDetector {
  /** Adds the probabilities of the next frames. Returns the segments that end with them. */
  push(probabilities: readonly number[]): readonly SpeechSegment[];
  readonly open: OpenSegment | undefined;
  /** Samples before this position are in no future segment. */
  readonly settledSamples: number;
  /** Ends the audio. Returns the last segment, if any. */
  finish(): readonly SpeechSegment[];
}

/** Hysteresis: voice starts at the first probability, and ends below the second. */
const VOICE_START_PROBABILITY = 0.5;
const VOICE_END_PROBABILITY = 0.35;

/** A long segment is cut in its last third. */
const CUT_SEARCH_START = 2 / 3;

/** Finds segments of speech in the probabilities of a voice detector. */
export function createSegmentDetector({
  pauseSamples,
  samplesMax,
  marginSamples,
  voiceSamplesMin,
}: SegmentDetectorOptions): SegmentDetector {
  let position = 0;
  /** End of the previous segment: no sample belongs to two segments. */
  let previousEnd = 0;
  let start: number | undefined;
  let voiceEnd = 0;
  let voiceSamples = 0;
  /** Probabilities of the open segment, from position `framesStart` on. */
  let frames: number[] = [];
  let framesStart = 0;

  const closeSegment = (end: number): SpeechSegment[] => {
    if (start === undefined) return [];
    const segment = { start, end };
    const isNoise = voiceSamples < voiceSamplesMin;
    start = undefined;
    frames = [];
    if (isNoise) return [];
    previousEnd = end;
    return [segment];
  };

  /** Closes the segment at its faintest frame. The rest starts the next segment if it contains voice. */
  const cutAtFaintest = (): SpeechSegment[] => {
    const from = Math.floor(frames.length * CUT_SEARCH_START);
    const faintest = frames.reduce(
      (least, each, index) => (index > from && each < (frames[least] ?? 1) ? index : least),
      from,
    );
    const cutPosition = framesStart + faintest * VOICE_FRAME_SAMPLES;
    const remaining = frames.slice(faintest);
    const lastVoice = voiceEnd;
    const closed = closeSegment(cutPosition);
    const first = remaining.findIndex((each) => each >= VOICE_END_PROBABILITY);
    if (first < 0) return closed;
    previousEnd = cutPosition;
    start = cutPosition;
    frames = remaining;
    framesStart = cutPosition;
    voiceEnd = lastVoice;
    // The rest may be a short end of a word, so it never counts as noise.
    voiceSamples = voiceSamplesMin;
    return closed;
  };

  const pushFrame = (probability: number): SpeechSegment[] => {
    const frameBegin = position;
    position += VOICE_FRAME_SAMPLES;
    const isVoice = probability >= (start === undefined ? VOICE_START_PROBABILITY : VOICE_END_PROBABILITY);
    if (start === undefined) {
      if (!isVoice) return [];
      start = Math.max(previousEnd, frameBegin - marginSamples);
      framesStart = frameBegin;
      voiceSamples = 0;
    }
    frames.push(probability);
    if (isVoice) {
      voiceEnd = position;
      voiceSamples += VOICE_FRAME_SAMPLES;
    } else if (position - voiceEnd >= pauseSamples) {
      return closeSegment(Math.min(position, voiceEnd + marginSamples));
    }
    return position + VOICE_FRAME_SAMPLES - start > samplesMax ? cutAtFaintest() : [];
  };

  return {
    push: (probabilities) => probabilities.flatMap(pushFrame),
    get open() {
      return start === undefined ? undefined : { start, voiceEnd };
    },
    get settledSamples() {
      return start ?? Math.max(previousEnd, position - marginSamples);
    },
    finish: () => closeSegment(Math.min(position, voiceEnd + marginSamples)),
  };
}
