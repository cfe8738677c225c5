import { ServiceError } from '../../core/error.ts';
import type { DeploymentTransition, DeploymentPlan, DeploymentRecord, PtuCapacity } from '../../core/deployment.ts';
import { DEPLOYMENT_MODEL_CHARS_MAX, DEPLOYMENT_REASON_CHARS_MAX, DEPLOYMENT_SUFFIX_CHARS_MAX } from '../limits.ts';
import { isDefined } from '../../lib/omit-nullish.ts';
import type { CapacityRequest } from './deployment.ts';

/** Deployments are scaled in multiples of this capacity. */
export const CAPACITY_UNIT = 1;

/** Rejects an unknown model or deployment with the prescribed message. The name may be any text of a request. */
export function throwModelNotFound(name: string): never {
  throw new ServiceError('not-found', `Model: ${name.slice(0, 200).toWellFormed()} not found!`);
}

/** The message is prescribed (docs/wire/dashscope-native.md#deployments). */
export const createNameTakenError = (name: string): ServiceError =>
  new ServiceError('conflict', `Deployed model ${name} already exists, please specify a suffix.`, { param: 'suffix' });

/** A deployed model's name must be usable in a URL path, unlike an alias, which may match any text. */
export const isDeployableName = (modelName: string): boolean =>
  modelName.length <= DEPLOYMENT_MODEL_CHARS_MAX && modelName !== '' && !/[\s\p{C}]/u.test(modelName);

/** Checks a suffix (docs/wire/dashscope-native.md#deployments). @throws ServiceError `invalid-request`. */
export function checkSuffix(suffix: string): void {
  if (/^[a-z0-9-]+$/.test(suffix) && suffix.length <= DEPLOYMENT_SUFFIX_CHARS_MAX) return;
  throw new ServiceError(
    'invalid-request',
    `suffix must be 1 to ${DEPLOYMENT_SUFFIX_CHARS_MAX} lower-case letters, digits or hyphens.`,
    { param: 'suffix' },
  );
}

interface CapacityRules {
  readonly plan: DeploymentPlan;
  readonly baseCapacity: number;
  readonly capacityMax: number;
}

/**
 * Validates the requested capacity and returns it as a record stores it.
 * @throws ServiceError `invalid-request` if the plan's field is missing or the other plan's field is set.
 */
export function parseTargetCapacity(
  { capacity, ptu }: CapacityRequest,
  rules: CapacityRules,
): Pick<DeploymentRecord, 'capacity' | 'ptu'> {
  checkPlanFields(rules.plan, { capacity, ptu });
  if (rules.plan === 'ptu') {
    if (!ptu) throw missingFieldError('ptu_capacity', 'ptu');
    return { capacity: isZero(ptu) ? 0 : rules.baseCapacity, ptu };
  }
  if (capacity === undefined) throw missingFieldError('capacity', rules.plan);
  return { capacity: parseCapacity(capacity, rules), ptu: undefined };
}

/** @throws ServiceError `invalid-request` if the capacity of another plan is set. */
export function checkPlanFields(
  plan: DeploymentPlan,
  { capacity, ptu }: { readonly capacity?: unknown; readonly ptu?: unknown },
): void {
  if (plan === 'ptu' && isDefined(capacity)) throw unusedFieldError('capacity', plan, 'ptu_capacity');
  if (plan !== 'ptu' && isDefined(ptu)) throw unusedFieldError('ptu_capacity', plan, 'capacity');
}

/** The message is prescribed, except for the numbers (docs/wire/dashscope-native.md#deployments). */
function parseCapacity(capacity: number | string, { baseCapacity, capacityMax }: CapacityRules): number {
  const isWhole = typeof capacity === 'number' && Number.isSafeInteger(capacity) && capacity % baseCapacity === 0;
  if (isWhole && capacity >= 0 && capacity <= capacityMax) return capacity;
  const rule = `larger than or equal to 0 and multiples of ${baseCapacity} and less than ${capacityMax + 1}`;
  throw new ServiceError('invalid-request', `Invalid capacity (${capacity}), capacity must be ${rule}!`, {
    param: 'capacity',
  });
}

const missingFieldError = (param: string, plan: DeploymentPlan): ServiceError =>
  new ServiceError('invalid-request', `${param} is required with plan ${plan}.`, { param });

const unusedFieldError = (param: string, plan: DeploymentPlan, instead: string): ServiceError =>
  new ServiceError('invalid-request', `${param} has no meaning with plan ${plan}: use ${instead}.`, { param });

const isZero = ({ inputTpm, outputTpm, thinkingOutputTpm }: PtuCapacity): boolean =>
  inputTpm + outputTpm + thinkingOutputTpm === 0;

type TargetCapacity = Pick<DeploymentRecord, 'capacity' | 'ptu'>;

/** Describes requested capacity in the reason of an event. */
export function describeCapacity({ capacity, ptu }: TargetCapacity): string {
  if (!ptu) return `capacity ${capacity}`;
  const { inputTpm, outputTpm, thinkingOutputTpm } = ptu;
  return `input_tpm ${inputTpm}, output_tpm ${outputTpm}, thinking_output_tpm ${thinkingOutputTpm}`;
}

/** Describes limits in the reason of an event. */
export const describeLimits = ({ rpmLimit, tpmLimit }: Pick<DeploymentRecord, 'rpmLimit' | 'tpmLimit'>): string =>
  `rpm_limit ${rpmLimit ?? 'none'}, tpm_limit ${tpmLimit ?? 'none'}`;

/** Reasons of events for which the caller gave none. */
const DEFAULT_REASONS: Readonly<Partial<Record<DeploymentTransition, string>>> = {
  delete: 'The deployment was deleted by its owner.',
  begin: 'The token reservation is being set up.',
  ready: 'All units respond.',
  reach: 'The requested capacity is ready.',
  stop: 'The requested capacity is 0 and all units have stopped.',
};

/** Returns the reason of an event, which is never empty for transitions that have a default. */
export const getEventReason = (transition: DeploymentTransition, reason: string): string =>
  reason === '' ? (DEFAULT_REASONS[transition] ?? '') : cleanReason(reason);

/** Limits and sanitizes a reason, which may be the text of an engine. */
export const cleanReason = (reason: string): string =>
  reason.slice(0, DEPLOYMENT_REASON_CHARS_MAX).replaceAll('\0', '').toWellFormed();
