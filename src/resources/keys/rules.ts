import { ServiceError } from '../../core/error.ts';
import type { KeyRecord } from '../../core/key.ts';
import { KEY_NAME_CODE_POINTS_MAX, WORKSPACE_CHARS_MAX } from '../limits.ts';
import { isRegionId, REGION_IDS, type RegionId } from '../../core/region.ts';
import type { KeyDraft } from './key.ts';
import { isWorkspaceName } from './workspace-name.ts';

/** Workspace that always exists; any other comes into being with its first key. */
export const PRIMARY_WORKSPACE = 'primary';

const CONTROL_CHARACTER = /\p{Cc}/u;
const DURATION_PATTERN = /^(\d{1,6})(m|h|d|w)$/;
/** A date, or a date with time and zone. Without a zone the time would depend on the machine. */
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** @throws ServiceError `invalid-request`. */
export function checkKeyDraft({ workspace, name, expiresAt }: KeyDraft, now: number): void {
  if (!isWorkspaceName(workspace)) {
    refuse(
      'workspace',
      `must be 1 to ${WORKSPACE_CHARS_MAX} letters, digits and hyphens, with no hyphen at either end`,
      workspace,
    );
  }
  if (Array.from(name).length > KEY_NAME_CODE_POINTS_MAX || CONTROL_CHARACTER.test(name)) {
    refuse('name', `must be at most ${KEY_NAME_CODE_POINTS_MAX} characters without control characters`, name);
  }
  if (expiresAt !== undefined && expiresAt <= now) {
    refuse('expires', 'must be in the future', new Date(expiresAt).toISOString());
  }
}

/** @throws ServiceError `invalid-request` that lists the known regions. */
export function parseRegion(text: string): RegionId {
  if (isRegionId(text)) return text;
  return refuse('region', `must be one of ${REGION_IDS.join(', ')}`, text);
}

/**
 * Parses an expiry time: `30d` (m, h, d, w) from now, a date (midnight UTC), or a date with time and zone.
 * @returns UTC milliseconds.
 * @throws ServiceError `invalid-request`, also for a time in the past.
 */
export function parseExpiry(text: string, now: number, field = 'expires'): number {
  const [, count, unit] = DURATION_PATTERN.exec(text) ?? [];
  const isUnit = unit === 'm' || unit === 'h' || unit === 'd' || unit === 'w';
  const at = isUnit ? now + Number(count) * UNIT_MS[unit] : TIMESTAMP.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(at)) {
    return refuse(field, 'must be a duration such as 30d or 12h, a date, or a date with time and zone', text);
  }
  if (at <= now) return refuse(field, 'must be in the future', text);
  return at;
}

export type KeyState = 'active' | 'revoked' | 'expired';

export function getKeyState({ revokedAt, expiresAt }: KeyRecord, now: number): KeyState {
  if (revokedAt !== undefined) return 'revoked';
  if (expiresAt !== undefined && expiresAt <= now) return 'expired';
  return 'active';
}

function refuse(param: string, rule: string, value: string): never {
  throw new ServiceError('invalid-request', `${param} ${rule}, got ${JSON.stringify(value.slice(0, 100))}.`, { param });
}
