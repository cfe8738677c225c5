import type { ModelEntry } from '../../../catalogue/model.ts';
import type { DeploymentLimits, DeploymentPlan, DeploymentStatus, PtuCapacity } from '../../../core/deployment.ts';
import { DEPLOYMENT_PLANS, DEPLOYMENT_STATUSES } from '../../../core/deployment.ts';
import { ServiceError } from '../../../core/error.ts';
import { isPresent, present } from '../../../lib/present.ts';
import type { CapacityWish, DeploymentDraft } from '../../../resources/deployments/deployment.ts';
import { missing, refuse, shown } from '../../parse.ts';
import type { CreateWire, ThrottleWire } from './schema.ts';
import { WIRE_STATUSES } from './schema.ts';

/** What a model is, as far as that makes a difference to what is asked of its deployments. */
export type BaseModel = Pick<ModelEntry, 'abilities' | 'contextTokens' | 'isContextGuessed'>;

/** wire.md E8.1: absent, it is one with engines of its own. */
const PLAN_DEFAULT: DeploymentPlan = 'cu';

/** What nothing is to be paid for ahead, in the words of either field. */
const PAID_LATER = ['post_paid', 'post_pay', 'postpay'];

export function decodeDraft(wire: CreateWire): DeploymentDraft {
  return {
    modelName: wire.model_name,
    plan: decodePlan(wire.plan),
    ...decodeCapacity(wire),
    ...present({ rpmLimit: wire.rpm_limit, tpmLimit: wire.tpm_limit }),
    spec: present({
      displayName: wire.name,
      suffix: wire.suffix,
      deploySpec: typeof wire.deploy_spec === 'string' ? wire.deploy_spec : undefined,
      templateId: wire.template_id,
      serviceTier: wire.service_tier,
      modelVersion: wire.model_version,
      enableThinking: wire.enable_thinking,
      maxContextLength: wire.max_context_length,
    }),
  };
}

interface CapacityWire {
  readonly capacity?: unknown;
  readonly ptu_capacity?:
    | {
        readonly input_tpm: number;
        readonly output_tpm: number;
        readonly thinking_output_tpm: number;
      }
    | null
    | undefined;
}

export function decodeCapacity({ capacity, ptu_capacity: ptu }: CapacityWire): CapacityWish {
  const decoded: PtuCapacity | undefined = ptu
    ? { inputTpm: ptu.input_tpm, outputTpm: ptu.output_tpm, thinkingOutputTpm: ptu.thinking_output_tpm }
    : undefined;
  const asSent = typeof capacity === 'number' || !isPresent(capacity) ? capacity : shown(capacity);
  return present({ capacity: asSent, ptu: decoded });
}

/** Null takes a limit away. @throws ServiceError `invalid-request` where neither is there. */
export function decodeLimits(wire: ThrottleWire): Partial<DeploymentLimits> {
  const { rpm_limit: rpm, tpm_limit: tpm } = wire;
  if (rpm === undefined && tpm === undefined)
    throw new ServiceError('invalid-request', missing('rpm_limit'), { param: 'rpm_limit' });
  return {
    ...(rpm === undefined ? {} : { rpmLimit: rpm ?? undefined }),
    ...(tpm === undefined ? {} : { tpmLimit: tpm ?? undefined }),
  };
}

/** Clients write it in either case. */
function decodePlan(wire: string | null | undefined): DeploymentPlan {
  if (!isPresent(wire)) return PLAN_DEFAULT;
  const plan = DEPLOYMENT_PLANS.find((known) => known === wire.toLowerCase());
  if (plan) return plan;
  const why = wire.toLowerCase() === 'lora' ? 'plan lora is not served, as nothing is trained here: ' : '';
  throw refuse('plan', `${why}plan must be one of ${DEPLOYMENT_PLANS.join(', ')}`, wire);
}

export const decodeStatus = (wire: string | undefined): DeploymentStatus | undefined =>
  DEPLOYMENT_STATUSES.find((status) => WIRE_STATUSES[status] === wire);

/**
 * Fields that are taken and change nothing here.
 * @param base Of what model it is; undefined where that is not known any more.
 */
export function ignoredOf(wire: CreateWire, base: BaseModel | undefined): readonly string[] {
  const isWider = base && !base.isContextGuessed && (wire.max_context_length ?? 0) > base.contextTokens;
  const asked = {
    deploy_spec: wire.deploy_spec,
    template_id: wire.template_id,
    billing_method: laterIsFine(wire.billing_method),
    charge_type: laterIsFine(wire.charge_type),
    pre_paid_info: wire.pre_paid_info,
    service_tier: wire.service_tier,
    model_version: wire.model_version,
    enable_thinking: base?.abilities.thinking === false ? wire.enable_thinking || undefined : undefined,
    'max_context_length(clamped)': isWider ? wire.max_context_length : undefined,
  };
  return Object.entries(asked).flatMap(([name, value]) => (isPresent(value) ? name : []));
}

const laterIsFine = (wire: string | null | undefined): string | null | undefined =>
  isPresent(wire) && PAID_LATER.includes(wire.toLowerCase()) ? undefined : wire;
