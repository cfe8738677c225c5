import { VOICE_FRAME_SAMPLES } from '../engines/speech-engine.ts';

/** What is taken for one stretch of speech; all in samples. */
export interface StretchRules {
  /** Silence that ends it. */
  readonly pause: number;
  /** Beyond: it is cut where the voice was faintest. */
  readonly longest: number;
  /** Kept of the silence on both sides. */
  readonly margin: number;
  /** Less voice than that is a noise. */
  readonly shortest: number;
}

/** Samples from `begin` up to `end`, counted from the beginning of the audio. */
export interface Stretch {
  readonly begin: number;
  readonly end: number;
}

/** Speech that goes on. */
export interface OpenStretch {
  readonly begin: number;
  /** Where the last voice so far ends. */
  readonly voiceEnd: number;
}

export interface VoiceStretches {
  /** @param probabilities The next frames of the audio. @returns Stretches that end with them, in their order. */
  push(probabilities: readonly number[]): readonly Stretch[];
  readonly open: OpenStretch | undefined;
  /** Samples before that are in no stretch that is still to come. */
  readonly settled: number;
  /** The audio has ended. */
  finish(): readonly Stretch[];
}

/** A voice is taken for one from the first on, and until it falls below the second: it does not flicker. */
const ENTER = 0.5;
const LEAVE = 0.35;

/** The place where a long stretch is cut is looked for in its last third. */
const CUT_FROM = 2 / 3;

/** Finds where somebody speaks in the answers of a voice detector. */
export function createVoiceStretches({ pause, longest, margin, shortest }: StretchRules): VoiceStretches {
  let at = 0;
  /** Where the stretch before ends: no sample is in two. */
  let floor = 0;
  let begin: number | undefined;
  let voiceEnd = 0;
  let voiced = 0;
  /** Of the frames from `framesFrom` on, while a stretch is open. */
  let frames: number[] = [];
  let framesFrom = 0;

  const close = (end: number): Stretch[] => {
    if (begin === undefined) return [];
    const stretch = { begin, end };
    const isNoise = voiced < shortest;
    begin = undefined;
    frames = [];
    if (isNoise) return [];
    floor = end;
    return [stretch];
  };

  /** What comes behind the cut is the beginning of the next one, if there is voice in it. */
  const cut = (): Stretch[] => {
    const from = Math.floor(frames.length * CUT_FROM);
    const faintest = frames.reduce(
      (least, each, index) => (index > from && each < (frames[least] ?? 1) ? index : least),
      from,
    );
    const place = framesFrom + faintest * VOICE_FRAME_SAMPLES;
    const behind = frames.slice(faintest);
    const lastVoice = voiceEnd;
    const closed = close(place);
    const first = behind.findIndex((each) => each >= LEAVE);
    if (first < 0) return closed;
    floor = place;
    begin = place;
    frames = behind;
    framesFrom = place;
    voiceEnd = lastVoice;
    // The end of a word may be short: it is no noise.
    voiced = shortest;
    return closed;
  };

  const pushFrame = (probability: number): Stretch[] => {
    const frameBegin = at;
    at += VOICE_FRAME_SAMPLES;
    const isVoice = probability >= (begin === undefined ? ENTER : LEAVE);
    if (begin === undefined) {
      if (!isVoice) return [];
      begin = Math.max(floor, frameBegin - margin);
      framesFrom = frameBegin;
      voiced = 0;
    }
    frames.push(probability);
    if (isVoice) {
      voiceEnd = at;
      voiced += VOICE_FRAME_SAMPLES;
    } else if (at - voiceEnd >= pause) {
      return close(Math.min(at, voiceEnd + margin));
    }
    return at + VOICE_FRAME_SAMPLES - begin > longest ? cut() : [];
  };

  return {
    push: (probabilities) => probabilities.flatMap(pushFrame),
    get open() {
      return begin === undefined ? undefined : { begin, voiceEnd };
    },
    get settled() {
      return begin ?? Math.max(floor, at - margin);
    },
    finish: () => close(Math.min(at, voiceEnd + margin)),
  };
}
