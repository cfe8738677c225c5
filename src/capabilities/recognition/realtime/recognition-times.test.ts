import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REALTIME_HEARTBEAT_MS, REALTIME_SILENCE_MS_MAX, REALTIME_TASK_MS_MAX } from './limits.ts';
import { findDueEvent } from './recognition-times.ts';

const START = { startedAt: 0, lastAudioAt: 0, lastSentAt: 0 };
const RULES = { isAudioExpected: true, hasHeartbeat: false };

test('a recognition without audio is silent at the limit, and not before', () => {
  assert.equal(findDueEvent(START, { ...RULES, now: REALTIME_SILENCE_MS_MAX - 1 }), undefined);
  assert.equal(findDueEvent(START, { ...RULES, now: REALTIME_SILENCE_MS_MAX }), 'silent');
  assert.equal(findDueEvent({ ...START, lastAudioAt: 1 }, { ...RULES, now: REALTIME_SILENCE_MS_MAX }), undefined);
});

test('a heartbeat is due after the interval without an event, and replaces the end by silence', () => {
  const rules = { ...RULES, hasHeartbeat: true };
  assert.equal(findDueEvent(START, { ...rules, now: REALTIME_HEARTBEAT_MS - 1 }), undefined);
  assert.equal(findDueEvent(START, { ...rules, now: REALTIME_HEARTBEAT_MS }), 'heartbeat');
  assert.equal(findDueEvent({ ...START, lastSentAt: 1 }, { ...rules, now: REALTIME_HEARTBEAT_MS }), undefined);
  assert.equal(findDueEvent(START, { ...rules, now: REALTIME_SILENCE_MS_MAX }), 'heartbeat');
});

test('while no audio is expected, only the total time counts', () => {
  for (const hasHeartbeat of [true, false]) {
    const rules = { hasHeartbeat, isAudioExpected: false };
    assert.equal(findDueEvent(START, { ...rules, now: REALTIME_TASK_MS_MAX - 1 }), undefined);
    assert.equal(findDueEvent(START, { ...rules, now: REALTIME_TASK_MS_MAX }), 'overlong');
  }
});
