import type { RequestContext } from '../../../core/context.ts';
import type { Deployments } from '../../../resources/deployments/deployment.ts';
import { isRecord } from '../../../lib/is-record.ts';
import { CAPACITY_UNIT, checkPlanFields } from '../../../resources/deployments/rules.ts';
import { createJsonReply, createStreamReply } from '../../endpoint.ts';
import type { Endpoint, EndpointRequest, Reply } from '../../endpoint.ts';
import type { ZonedTime } from '../../fields/zoned-time.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody, createFieldError } from '../../parse.ts';
import { queryToObject } from '../../fields/list-query.ts';
import { decodePage, PAGE_TEXTS, getPageOffset } from '../page.ts';
import type { BaseModel } from './decode.ts';
import {
  checkThinkingRate,
  decodeCapacity,
  decodeDraft,
  decodeLimits,
  decodeStatus,
  listIgnoredDeploymentFields,
} from './decode.ts';
import { encodeDeployment, encodeDeploymentList } from './encode.ts';
import type { DeployableModelsDeps } from './models.ts';
import { createDeployableModelsEndpoint } from './models.ts';
import { CreateBody, ListQuery, ScaleBody, ThrottleBody } from './schema.ts';
import { createDeploymentStreamEncoder } from './stream.ts';

export interface NativeDeploymentsDeps extends Pick<DeployableModelsDeps, 'listDeployableModels'> {
  readonly deployments: Deployments;
  /** Finds a model by its catalogue name. */
  readonly findBaseModel: (name: string) => BaseModel | undefined;
  readonly time: Pick<ZonedTime, 'format'>;
  readonly strict: boolean;
}

const shared = { family: 'native', regions: INTERFACES.deployments.regions } as const;
const DEPLOYMENTS_PATH = '/api/v1/deployments';
const DEPLOYMENT_PATH = `${DEPLOYMENTS_PATH}/:id`;

/** Creates the deployment endpoints (docs/wire/dashscope-native.md#deployments). */
export function createDeploymentEndpoints(deps: NativeDeploymentsDeps): readonly Endpoint[] {
  const { deployments, findBaseModel, time, strict } = deps;

  const throttle = async (
    { body, params: { id = '' } }: EndpointRequest,
    { owner, requestId }: RequestContext,
  ): Promise<Reply> => {
    // An unknown deployment is reported before its body is checked.
    await deployments.find(owner, id);
    const { wire, unknown } = parseBody(ThrottleBody, body, { strict });
    checkRepeatedName(wire.deployed_model, id);
    const record = await deployments.throttle(owner, id, decodeLimits(wire));
    return createJsonReply(encodeDeployment(record, time, requestId), encodeIgnoredHeader(unknown));
  };

  return [
    createDeployableModelsEndpoint({ ...deps, baseCapacity: CAPACITY_UNIT }),
    {
      ...shared,
      operation: 'deployments.create',
      method: 'POST',
      path: DEPLOYMENTS_PATH,
      onDisconnect: 'finish',
      async handle({ body }, { owner, requestId }) {
        const { wire, unknown } = parseBody(CreateBody, body, { strict });
        const draft = decodeDraft(wire);
        checkThinkingRate(wire, findBaseModel(wire.model_name));
        const record = await deployments.create(owner, draft);
        const ignored = listIgnoredDeploymentFields(wire, findBaseModel(record.baseModel));
        return createJsonReply(
          encodeDeployment(record, time, requestId),
          encodeIgnoredHeader([...unknown, ...ignored]),
        );
      },
    },
    {
      ...shared,
      operation: 'deployments.list',
      method: 'GET',
      path: DEPLOYMENTS_PATH,
      onDisconnect: 'cancel',
      async handle({ query }, { owner, requestId }) {
        const { wire, unknown } = parseBody(ListQuery, queryToObject(query), { texts: PAGE_TEXTS });
        const page = decodePage(wire);
        const listQuery = { status: decodeStatus(wire.status), limit: page.size, skip: getPageOffset(page) };
        const list = await deployments.list(owner, listQuery);
        return createJsonReply(encodeDeploymentList(list, page, time, requestId), encodeIgnoredHeader(unknown));
      },
    },
    {
      ...shared,
      operation: 'deployments.get',
      method: 'GET',
      path: DEPLOYMENT_PATH,
      onDisconnect: 'cancel',
      handle: async ({ params: { id = '' } }, { owner, requestId }) =>
        createJsonReply(encodeDeployment(await deployments.find(owner, id), time, requestId)),
    },
    {
      ...shared,
      operation: 'deployments.scale',
      method: 'PUT',
      path: `${DEPLOYMENT_PATH}/scale`,
      onDisconnect: 'finish',
      async handle({ body, params: { id = '' } }, { owner, requestId }) {
        // An unknown deployment and a field of another plan are reported before the other fields are checked.
        const { plan, baseModel } = await deployments.find(owner, id);
        if (isRecord(body)) checkPlanFields(plan, { capacity: body['capacity'], ptu: body['ptu_capacity'] });
        const { wire, unknown } = parseBody(ScaleBody, body, { strict });
        checkRepeatedName(wire.deployed_model, id);
        checkThinkingRate(wire, findBaseModel(baseModel));
        const record = await deployments.scale(owner, id, decodeCapacity(wire));
        return createJsonReply(encodeDeployment(record, time, requestId), encodeIgnoredHeader(unknown));
      },
    },
    // The documented path, and the path that a command-line client uses.
    ...[`${DEPLOYMENT_PATH}/update`, DEPLOYMENT_PATH].map((path): Endpoint => ({
      ...shared,
      operation: 'deployments.throttle',
      method: 'PUT',
      path,
      onDisconnect: 'finish',
      handle: throttle,
    })),
    {
      ...shared,
      operation: 'deployments.delete',
      method: 'DELETE',
      path: DEPLOYMENT_PATH,
      onDisconnect: 'finish',
      handle: async ({ params: { id = '' } }, { owner, requestId }) =>
        createJsonReply(encodeDeployment(await deployments.delete(owner, id), time, requestId)),
    },
    {
      ...shared,
      operation: 'deployments.stream',
      method: 'GET',
      path: `${DEPLOYMENT_PATH}/stream`,
      onDisconnect: 'cancel',
      handle: ({ params: { id = '' } }, { owner, requestId, signal }) =>
        Promise.resolve(
          createStreamReply(deployments.watch(owner, id, signal), createDeploymentStreamEncoder(time, requestId)),
        ),
    },
  ];
}

/** Rejects a body that names another deployment than the path, instead of choosing one of them. */
function checkRepeatedName(name: string | null | undefined, id: string): void {
  if (name === undefined || name === null || name === id) return;
  throw createFieldError('deployed_model', 'deployed_model must equal the name in the path', name);
}
