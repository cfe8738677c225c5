import { REALTIME_HEARTBEAT_MS, REALTIME_SILENCE_MS_MAX, REALTIME_TASK_MS_MAX } from './limits.ts';

/** Times of a recognition, in ms of the monotonic clock. */
export interface RecognitionTimes {
  readonly startedAt: number;
  readonly lastAudioAt: number;
  /** Time of the last event that the client received. */
  readonly lastSentAt: number;
}

export interface TimeRules {
  readonly now: number;
  /** False while Parley does not read from the connection, and after the end of the audio. */
  readonly isAudioExpected: boolean;
  /** Silence does not end the recognition; the client receives heartbeats instead. */
  readonly hasHeartbeat: boolean;
}

/** Returns what is due because of the time: the end of an overlong or silent recognition, or a heartbeat. */
export function findDueEvent(
  { startedAt, lastAudioAt, lastSentAt }: RecognitionTimes,
  { now, isAudioExpected, hasHeartbeat }: TimeRules,
): 'overlong' | 'silent' | 'heartbeat' | undefined {
  if (now - startedAt >= REALTIME_TASK_MS_MAX) return 'overlong';
  if (!isAudioExpected) return undefined;
  if (hasHeartbeat) return now - lastSentAt >= REALTIME_HEARTBEAT_MS ? 'heartbeat' : undefined;
  return now - lastAudioAt >= REALTIME_SILENCE_MS_MAX ? 'silent' : undefined;
}
