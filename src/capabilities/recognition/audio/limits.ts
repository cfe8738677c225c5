/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/**
 * Bytes and seconds of one recording (docs/wire/dashscope-native.md#transcription). Beyond, as for the limits up to
 * AUDIO_RESIDENT_BYTES_MAX: rejected with the limit.
 */
export const AUDIO_BYTES_MAX = 2 * 1024 ** 3;
export const AUDIO_SECONDS_MAX = 12 * 3_600;

/** Channels of a recording, and its sample rate in Hz. */
export const AUDIO_CHANNELS_MAX = 32;
export const AUDIO_RATE_MIN = 4_000;
export const AUDIO_RATE_MAX = 384_000;

/** Changes of the sample rate within a recording. Each one takes up to a second of CPU time. */
export const AUDIO_RATE_CHANGES_MAX = 16;

/** Bytes of one packet or frame of a recording. */
export const AUDIO_PACKET_BYTES_MAX = 1024 * 1024;

/** Bytes of the index of an MP4 file; 12 hours of the smallest frames take a tenth of it. */
export const AUDIO_INDEX_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Ms of CPU time to decode a recording: a base, plus an amount per second of sound and per MiB of the file. Decoding
 * usually takes a fiftieth of the duration of the sound.
 */
export const AUDIO_DECODE_MS_BASE = 20_000;
export const AUDIO_DECODE_MS_PER_SECOND = 150;
export const AUDIO_DECODE_MS_PER_MIB = 500;

/**
 * Ms of wall-clock time in which the decoder process neither reads nor writes, although both are possible. Beyond: it
 * fails.
 */
export const AUDIO_STALL_MS = 120_000;

/** Megabytes of JavaScript heap, and bytes of resident memory, of the decoder process. */
export const AUDIO_HEAP_MB = 256;
export const AUDIO_RESIDENT_BYTES_MAX = 512 * 1024 * 1024;

/**
 * Recordings that one process decodes concurrently, all but one of them for one workspace, and recordings that wait, half
 * of them of one workspace. Beyond: 503.
 */
export const AUDIO_DECODE_CONCURRENCY = 4;
export const AUDIO_DECODE_QUEUE_MAX = 128;
