import { ServiceError } from '../../core/error.ts';
import type { DeploymentMove, DeploymentPlan, DeploymentRecord, PtuCapacity } from '../../core/deployment.ts';
import {
  DEPLOYMENT_MODEL_CHARACTERS_MAX,
  DEPLOYMENT_REASON_CHARACTERS_MAX,
  DEPLOYMENT_SUFFIX_CHARACTERS_MAX,
} from '../../core/limits.ts';
import type { CapacityWish } from './deployment.ts';

/** What `capacity` counts in. */
export const BASE_CAPACITY = 1;

/** Specification, Errors; of models and deployments alike. The name may be anything a caller wrote. */
export function notThere(name: string): never {
  throw new ServiceError('not-found', `Model: ${name.slice(0, 200).toWellFormed()} not found!`);
}

/** Specification, Errors. */
export const nameTaken = (name: string): ServiceError =>
  new ServiceError('conflict', `Deployed model ${name} already exists, please specify a suffix.`, { param: 'suffix' });

/** Models have names that can stand in a path; an alias may fit any text. */
export const canBeNamed = (modelName: string): boolean =>
  modelName.length <= DEPLOYMENT_MODEL_CHARACTERS_MAX && modelName !== '' && !/[\s\p{C}]/u.test(modelName);

/** wire.md E8.1. @throws ServiceError `invalid-request`. */
export function checkSuffix(suffix: string): void {
  if (/^[a-z0-9-]+$/.test(suffix) && suffix.length <= DEPLOYMENT_SUFFIX_CHARACTERS_MAX) return;
  throw new ServiceError(
    'invalid-request',
    `suffix must be 1 to ${DEPLOYMENT_SUFFIX_CHARACTERS_MAX} lower-case letters, digits or hyphens.`,
    { param: 'suffix' },
  );
}

interface CapacityRules {
  readonly plan: DeploymentPlan;
  readonly baseCapacity: number;
  readonly capacityMax: number;
}

/**
 * What is wanted, as a record has it.
 * @throws ServiceError `invalid-request` where the plan needs what is not there, or has no use for what is.
 */
export function wantedOf(
  { capacity, ptu }: CapacityWish,
  rules: CapacityRules,
): Pick<DeploymentRecord, 'capacity' | 'ptu'> {
  if (rules.plan === 'ptu') {
    if (capacity !== undefined) throw unused('capacity', 'ptu', 'ptu_capacity');
    if (!ptu) throw needed('ptu_capacity', 'ptu');
    return { capacity: isNothing(ptu) ? 0 : rules.baseCapacity, ptu };
  }
  if (ptu) throw unused('ptu_capacity', rules.plan, 'capacity');
  if (capacity === undefined) throw needed('capacity', rules.plan);
  return { capacity: checkedCapacity(capacity, rules), ptu: undefined };
}

/** Specification, Errors: its words, with our figures. */
function checkedCapacity(capacity: number | string, { baseCapacity, capacityMax }: CapacityRules): number {
  const isWhole = typeof capacity === 'number' && Number.isSafeInteger(capacity) && capacity % baseCapacity === 0;
  if (isWhole && capacity >= 0 && capacity <= capacityMax) return capacity;
  const rule = `larger than or equal to 0 and multiples of ${baseCapacity} and less than ${capacityMax + 1}`;
  throw new ServiceError('invalid-request', `Invalid capacity (${capacity}), capacity must be ${rule}!`, {
    param: 'capacity',
  });
}

const needed = (param: string, plan: DeploymentPlan): ServiceError =>
  new ServiceError('invalid-request', `${param} is required with plan ${plan}.`, { param });

const unused = (param: string, plan: DeploymentPlan, instead: string): ServiceError =>
  new ServiceError('invalid-request', `${param} has no meaning with plan ${plan}: use ${instead}.`, { param });

const isNothing = ({ inputTpm, outputTpm, thinkingOutputTpm }: PtuCapacity): boolean =>
  inputTpm + outputTpm + thinkingOutputTpm === 0;

type Wanted = Pick<DeploymentRecord, 'capacity' | 'ptu'>;

/** What an event says of a change of what is wanted. */
export function tellWanted({ capacity, ptu }: Wanted): string {
  if (!ptu) return `capacity ${capacity}`;
  const { inputTpm, outputTpm, thinkingOutputTpm } = ptu;
  return `input_tpm ${inputTpm}, output_tpm ${outputTpm}, thinking_output_tpm ${thinkingOutputTpm}`;
}

/** What an event says of limits. */
export const tellLimits = ({ rpmLimit, tpmLimit }: Pick<DeploymentRecord, 'rpmLimit' | 'tpmLimit'>): string =>
  `rpm_limit ${rpmLimit ?? 'none'}, tpm_limit ${tpmLimit ?? 'none'}`;

/** What an event says where nobody had more to say. */
const PLAIN_REASONS: Readonly<Partial<Record<DeploymentMove, string>>> = {
  delete: 'Its owner wants it no more.',
  begin: 'The new reservation is worked at.',
  ready: 'All of it answers.',
  reach: 'All that is wanted serves.',
  stop: 'Nothing is wanted, and nothing serves any more.',
};

/** Every event has one. */
export const reasonOf = (move: DeploymentMove, reason: string): string =>
  reason === '' ? (PLAIN_REASONS[move] ?? '') : cleanReason(reason);

/** Of any length and with anything in it: an engine may have written it. */
export const cleanReason = (reason: string): string =>
  reason.slice(0, DEPLOYMENT_REASON_CHARACTERS_MAX).replaceAll('\0', '').toWellFormed();
