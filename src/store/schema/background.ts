import type { RegionId } from '../../core/region.ts';

/** Migration 0007. Responses that are made while nobody waits. Times are UTC milliseconds. */
export interface BackgroundRunsTable {
  /** The response's. */
  id: string;
  region: RegionId;
  workspace: string;
  key_id: string;
  state: 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';
  /** Of its job: who comes with an older one has lost it. */
  attempt: number;
  /** 1 when its events are told one by one. */
  is_streamed: number;
  /** Of the last event that is stored; -1 without events. */
  last_sequence: number;
  /** Of all events that were stored. */
  event_chars: number;
  /** Until when the events of one that has ended are kept; null before its end, and when they are gone. */
  events_until: number | null;
  conversation_id: string | null;
  previous_id: string | null;
  created_at: number;
  ended_at: number | null;
  /** As it was told last; null where `responses` has it. */
  json: string | null;
  /** What was asked; null when it has ended. */
  body: string | null;
}

/** Migration 0007. Events of a response in the order of their numbers, some of them in each row. */
export interface ResponseEventsTable {
  response_id: string;
  /** Number of the first event of this row. Primary key together with `response_id`. */
  first: number;
  /** JSON: a list of texts. */
  text: string;
}
