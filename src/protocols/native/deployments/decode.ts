import type { ModelEntry } from '../../../catalogue/model.ts';
import type { DeploymentLimits, DeploymentPlan, DeploymentStatus, PtuCapacity } from '../../../core/deployment.ts';
import { DEPLOYMENT_PLANS, DEPLOYMENT_STATUSES } from '../../../core/deployment.ts';
import { isDefined, omitNullish } from '../../../lib/omit-nullish.ts';
import type { CapacityRequest, DeploymentDraft } from '../../../resources/deployments/deployment.ts';
import { createMissingParameterError, createFieldError, describeValue } from '../../parse.ts';
import type { CreateWire, ThrottleWire } from './schema.ts';
import { WIRE_STATUSES } from './schema.ts';

/** The properties of a model that its deployments' fields depend on. */
export type BaseModel = Pick<ModelEntry, 'abilities' | 'contextTokens' | 'isContextGuessed'>;

/** Default plan: a deployment with its own engines. */
const PLAN_DEFAULT: DeploymentPlan = 'cu';

/** Values of billing_method and charge_type that mean payment after use. */
const POST_PAID_VALUES = ['post_paid', 'post_pay', 'postpay'];

export function decodeDraft(wire: CreateWire): DeploymentDraft {
  return {
    modelName: wire.model_name,
    plan: decodePlan(wire.plan),
    ...decodeCapacity(wire),
    ...omitNullish({ rpmLimit: wire.rpm_limit, tpmLimit: wire.tpm_limit }),
    spec: omitNullish({
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
        readonly thinking_output_tpm?: number | null | undefined;
      }
    | null
    | undefined;
}

export function decodeCapacity({ capacity, ptu_capacity: ptu }: CapacityWire): CapacityRequest {
  const decoded: PtuCapacity | undefined = ptu
    ? { inputTpm: ptu.input_tpm, outputTpm: ptu.output_tpm, thinkingOutputTpm: ptu.thinking_output_tpm ?? 0 }
    : undefined;
  const sentCapacity = typeof capacity === 'number' || !isDefined(capacity) ? capacity : describeValue(capacity);
  return omitNullish({ capacity: sentCapacity, ptu: decoded });
}

/**
 * Checks the fields that a model's deployments need.
 * @throws ServiceError `invalid-request` if a model that thinks has no rate for its thoughts.
 */
export function checkThinkingRate({ ptu_capacity: ptu }: CapacityWire, baseModel: BaseModel | undefined): void {
  if (!ptu || isDefined(ptu.thinking_output_tpm) || (baseModel?.abilities.thinking ?? false) === false) return;
  throw createMissingParameterError('ptu_capacity.thinking_output_tpm');
}

/** Converts the limits; null removes a limit. @throws ServiceError `invalid-request` if neither is present. */
export function decodeLimits(wire: ThrottleWire): Partial<DeploymentLimits> {
  const { rpm_limit: rpm, tpm_limit: tpm } = wire;
  if (rpm === undefined && tpm === undefined) throw createMissingParameterError('rpm_limit');
  return {
    ...(rpm === undefined ? {} : { rpmLimit: rpm ?? undefined }),
    ...(tpm === undefined ? {} : { tpmLimit: tpm ?? undefined }),
  };
}

/** Clients write the plan in lower or upper case. */
function decodePlan(wire: string | null | undefined): DeploymentPlan {
  if (!isDefined(wire)) return PLAN_DEFAULT;
  const plan = DEPLOYMENT_PLANS.find((known) => known === wire.toLowerCase());
  if (plan) return plan;
  const prefix =
    wire.toLowerCase() === 'lora' ? 'plan lora is not served, because this service does not train models; ' : '';
  throw createFieldError('plan', `${prefix}plan must be one of ${DEPLOYMENT_PLANS.join(', ')}`, wire);
}

export const decodeStatus = (wire: string | undefined): DeploymentStatus | undefined =>
  DEPLOYMENT_STATUSES.find((status) => WIRE_STATUSES[status] === wire);

/**
 * Lists fields that are accepted but have no effect.
 * @param baseModel Undefined if the model is no longer in the catalogue.
 */
export function listIgnoredDeploymentFields(wire: CreateWire, baseModel: BaseModel | undefined): readonly string[] {
  const exceedsModelContext =
    baseModel && !baseModel.isContextGuessed && (wire.max_context_length ?? 0) > baseModel.contextTokens;
  const ignored = {
    deploy_spec: wire.deploy_spec,
    template_id: wire.template_id,
    billing_method: dropPostPaid(wire.billing_method),
    charge_type: dropPostPaid(wire.charge_type),
    pre_paid_info: wire.pre_paid_info,
    service_tier: wire.service_tier,
    model_version: wire.model_version,
    enable_thinking: baseModel?.abilities.thinking === false ? wire.enable_thinking || undefined : undefined,
    'max_context_length(clamped)': exceedsModelContext ? wire.max_context_length : undefined,
  };
  return Object.entries(ignored).flatMap(([name, value]) => (isDefined(value) ? name : []));
}

const dropPostPaid = (wire: string | null | undefined): string | null | undefined =>
  isDefined(wire) && POST_PAID_VALUES.includes(wire.toLowerCase()) ? undefined : wire;
