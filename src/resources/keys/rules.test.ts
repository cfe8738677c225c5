import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkKeyDraft, parseExpiry, parseRegion, getKeyState } from './rules.ts';

const NOW = Date.parse('2026-07-01T12:00:00Z');
const DRAFT = { region: 'cn-beijing', workspace: 'primary', name: '', expiresAt: undefined } as const;

describe('key rules', () => {
  it('accepts workspace names of 1 to 64 letters, digits and inner hyphens', () => {
    for (const workspace of ['primary', 'a', 'A1', 'team-7', 'llm-xyz-1', 'x'.repeat(64)]) {
      checkKeyDraft({ ...DRAFT, workspace }, NOW);
    }
    for (const workspace of ['', '-a', 'a-', 'a.b', 'a b', 'a_b', 'ä', 'a\n', '../x', 'x'.repeat(65)]) {
      assert.throws(
        () => checkKeyDraft({ ...DRAFT, workspace }, NOW),
        { kind: 'invalid-request', param: 'workspace', message: /^workspace must be 1 to 64 letters/ },
        JSON.stringify(workspace),
      );
    }
  });

  it('counts a name in code points and refuses control characters', () => {
    checkKeyDraft({ ...DRAFT, name: '🔑'.repeat(64) }, NOW);
    for (const name of ['🔑'.repeat(65), 'a\tb', 'a\u001b[31mb']) {
      assert.throws(() => checkKeyDraft({ ...DRAFT, name }, NOW), { kind: 'invalid-request', param: 'name' });
    }
  });

  it('refuses an expiry time in the past for a new key', () => {
    checkKeyDraft({ ...DRAFT, expiresAt: NOW + 1 }, NOW);
    assert.throws(() => checkKeyDraft({ ...DRAFT, expiresAt: NOW }, NOW), {
      kind: 'invalid-request',
      param: 'expires',
    });
  });

  it('parses durations and dates', () => {
    const table = {
      '30d': '2026-07-31T12:00:00Z',
      '12h': '2026-07-02T00:00:00Z',
      '5m': '2026-07-01T12:05:00Z',
      '2w': '2026-07-15T12:00:00Z',
      '2027-01-31': '2027-01-31T00:00:00Z',
      '2027-01-31T10:00+08:00': '2027-01-31T02:00:00Z',
      '2027-01-31T10:00:00.5Z': '2027-01-31T10:00:00.500Z',
    };
    for (const [text, moment] of Object.entries(table)) {
      assert.equal(parseExpiry(text, NOW), Date.parse(moment), text);
    }
  });

  it('refuses ambiguous and past expiry times', () => {
    for (const text of ['', '30', '30 d', '30y', '-1d', '1.5h', 'tomorrow', '2027', '2027-13-01', '01/02/2027']) {
      assert.throws(() => parseExpiry(text, NOW), { kind: 'invalid-request', param: 'expires' }, text);
    }
    for (const text of ['0d', '2026-07-01', '2020-01-01', '2027-01-31T10:00']) {
      assert.throws(() => parseExpiry(text, NOW), { kind: 'invalid-request', param: 'expires' }, text);
    }
  });

  it('lists the known regions for an unknown one', () => {
    assert.equal(parseRegion('us-east-1'), 'us-east-1');
    assert.throws(() => parseRegion('mars'), { kind: 'invalid-request', message: /cn-beijing, .* got "mars"/ });
    assert.throws(() => parseRegion('toString'), { kind: 'invalid-request' });
  });

  it('reports revocation before expiry in the state of a key', () => {
    const key = { ...DRAFT, id: 'key_1', hint: 'wxyz', createdAt: 0, revokedAt: undefined, usedAt: undefined };
    assert.equal(getKeyState(key, NOW), 'active');
    assert.equal(getKeyState({ ...key, expiresAt: NOW + 1 }, NOW), 'active');
    assert.equal(getKeyState({ ...key, expiresAt: NOW }, NOW), 'expired');
    assert.equal(getKeyState({ ...key, expiresAt: NOW, revokedAt: 1 }, NOW), 'revoked');
  });
});
