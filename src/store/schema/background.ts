import type { RegionId } from '../../core/region.ts';

/** Created by migration 0007: background responses, generated while no client waits. Times are UTC milliseconds. */
export interface BackgroundRunsTable {
  /** ID of the response. */
  id: string;
  region: RegionId;
  workspace: string;
  key_id: string;
  state: 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';
  /** Number of the job attempt that owns the run. Writes by an older attempt are rejected. */
  attempt: number;
  /** 1 if the events of the response are stored for streaming. */
  is_streamed: number;
  /** Sequence number of the last stored event; -1 without events. */
  last_sequence: number;
  /** Total length of all stored events in UTF-16 code units. */
  event_chars: number;
  /** Time until which the events of a finished run are kept; null before the end and after the events are removed. */
  events_until: number | null;
  conversation_id: string | null;
  previous_id: string | null;
  created_at: number;
  ended_at: number | null;
  /** Latest state of the response object; null if the table `responses` holds the response. */
  json: string | null;
  /** The request body; null once the run has ended. */
  body: string | null;
}

/** Created by migration 0007: events of a response in order; each row holds several consecutive events. */
export interface ResponseEventsTable {
  response_id: string;
  /** Sequence number of the first event of this row. Primary key together with `response_id`. */
  first: number;
  /** JSON: a list of event texts. */
  text: string;
}
