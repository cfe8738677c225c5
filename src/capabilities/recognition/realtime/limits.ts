/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/**
 * Ms without audio in a realtime recognition without heartbeat (docs/wire/realtime.md#recognition-messages). Beyond:
 * task-failed.
 */
export const REALTIME_SILENCE_MS_MAX = 23_000;

/**
 * Share of the concurrent realtime recognitions that is left to other workspaces with valid keys, at least one of several. Beyond: 503.
 */
export const RECOGNITION_OTHER_WORKSPACES_SHARE = 0.25;

/** Ms without a message after which a realtime recognition with heartbeat gets one. */
export const REALTIME_HEARTBEAT_MS = 10_000;

/** Ms of one realtime recognition in total. Beyond: task-failed. */
export const REALTIME_TASK_MS_MAX = 4 * 3_600_000;

/** Ms of continuous speech after which an intermediate result is sent. */
export const REALTIME_PARTIAL_MS = 3_000;

/** Ms of audio that waits for recognition. Beyond: the connection is not read until it is less. */
export const REALTIME_BACKLOG_MS_MAX = 60_000;

/**
 * Bytes of one JSON message and of one audio message; clients send 12,800 bytes of audio at once. Beyond: task-failed.
 */
export const REALTIME_TEXT_BYTES_MAX = 256 * 1024;
export const REALTIME_AUDIO_BYTES_MAX = 1024 * 1024;

/**
 * Ms of silence that end a sentence: range and default (docs/wire/realtime.md#recognition-messages). Outside:
 * task-failed.
 */
export const SENTENCE_SILENCE_MS_MIN = 200;
export const SENTENCE_SILENCE_MS_MAX = 6_000;
export const SENTENCE_SILENCE_MS_DEFAULT = 1_300;

/** Hotwords sent with a recognition (docs/wire/dashscope-native.md#vocabularies). Beyond: task-failed. */
export const REALTIME_HOTWORDS_MAX = 500;

/** Unicode code points of such a hotword. Beyond: task-failed. */
export const REALTIME_HOTWORD_CODE_POINTS_MAX = 100;

/** Languages that one recognition may name. Beyond: rejected. */
export const LANGUAGE_HINTS_MAX = 20;

/** Ms that an idle websocket stays open. Beyond: closed with 1000. */
export const SOCKET_IDLE_MS_MAX = 300_000;

/** Ms between checks whether the key of an active websocket was revoked. */
export const SOCKET_KEY_CHECK_MS = 5_000;
