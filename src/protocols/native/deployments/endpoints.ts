import type { RequestContext } from '../../../core/context.ts';
import type { Deployments } from '../../../resources/deployments/deployment.ts';
import { BASE_CAPACITY } from '../../../resources/deployments/rules.ts';
import { json, stream } from '../../endpoint.ts';
import type { Endpoint, EndpointRequest, Reply } from '../../endpoint.ts';
import type { ZonedTime } from '../../fields/zoned-time.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody, refuse } from '../../parse.ts';
import { fieldsOf, pageOf, pageTexts, skippedBy } from '../page.ts';
import type { BaseModel } from './decode.ts';
import { decodeCapacity, decodeDraft, decodeLimits, decodeStatus, ignoredOf } from './decode.ts';
import { encodeDeployment, encodeDeploymentPage } from './encode.ts';
import type { DeployableModelsNeeds } from './models.ts';
import { deployableModels } from './models.ts';
import { CreateBody, ListQuery, ScaleBody, ThrottleBody } from './schema.ts';
import { deploymentStream } from './stream.ts';

export interface NativeDeploymentsNeeds extends Pick<DeployableModelsNeeds, 'deployableIn'> {
  readonly deployments: Deployments;
  /** By the catalogue's own name. */
  readonly modelOf: (name: string) => BaseModel | undefined;
  readonly time: Pick<ZonedTime, 'show'>;
  readonly strict: boolean;
}

const shared = { family: 'native', regions: INTERFACES.deployments.regions } as const;
const ALL = '/api/v1/deployments';
const ONE = `${ALL}/:id`;

/** Specification, E8, and wire.md E8.1. */
export function nativeDeployments(needs: NativeDeploymentsNeeds): readonly Endpoint[] {
  const { deployments, modelOf, time: words, strict } = needs;

  const throttle = async (
    { body, params: { id = '' } }: EndpointRequest,
    { owner, requestId }: RequestContext,
  ): Promise<Reply> => {
    const { wire, unknown } = parseBody(ThrottleBody, body, { strict });
    checkRepeated(wire.deployed_model, id);
    const record = await deployments.throttle(owner, id, decodeLimits(wire));
    return json(encodeDeployment(record, words, requestId), ignoredHeader(unknown));
  };

  return [
    deployableModels({ ...needs, baseCapacity: BASE_CAPACITY }),
    {
      ...shared,
      operation: 'deployments.create',
      method: 'POST',
      path: ALL,
      onDisconnect: 'finish',
      async handle({ body }, { owner, requestId }) {
        const { wire, unknown } = parseBody(CreateBody, body, { strict });
        const draft = decodeDraft(wire);
        const record = await deployments.create(owner, draft);
        const ignored = ignoredOf(wire, modelOf(record.baseModel));
        return json(encodeDeployment(record, words, requestId), ignoredHeader([...unknown, ...ignored]));
      },
    },
    {
      ...shared,
      operation: 'deployments.list',
      method: 'GET',
      path: ALL,
      onDisconnect: 'cancel',
      async handle({ query }, { owner, requestId }) {
        const { wire, unknown } = parseBody(ListQuery, fieldsOf(query), { texts: pageTexts });
        const page = pageOf(wire);
        const wish = { status: decodeStatus(wire.status), limit: page.size, skip: skippedBy(page) };
        const found = await deployments.list(owner, wish);
        return json(encodeDeploymentPage(found, page, words, requestId), ignoredHeader(unknown));
      },
    },
    {
      ...shared,
      operation: 'deployments.get',
      method: 'GET',
      path: ONE,
      onDisconnect: 'cancel',
      handle: async ({ params: { id = '' } }, { owner, requestId }) =>
        json(encodeDeployment(await deployments.find(owner, id), words, requestId)),
    },
    {
      ...shared,
      operation: 'deployments.scale',
      method: 'PUT',
      path: `${ONE}/scale`,
      onDisconnect: 'finish',
      async handle({ body, params: { id = '' } }, { owner, requestId }) {
        const { wire, unknown } = parseBody(ScaleBody, body, { strict });
        checkRepeated(wire.deployed_model, id);
        const record = await deployments.scale(owner, id, decodeCapacity(wire));
        return json(encodeDeployment(record, words, requestId), ignoredHeader(unknown));
      },
    },
    // Documentation has the first path, and a command-line client sends the second (wire.md E8.1).
    ...[`${ONE}/update`, ONE].map((path): Endpoint => ({
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
      path: ONE,
      onDisconnect: 'finish',
      handle: async ({ params: { id = '' } }, { owner, requestId }) =>
        json(encodeDeployment(await deployments.delete(owner, id), words, requestId)),
    },
    {
      ...shared,
      operation: 'deployments.stream',
      method: 'GET',
      path: `${ONE}/stream`,
      onDisconnect: 'cancel',
      handle: ({ params: { id = '' } }, { owner, requestId, signal }) =>
        Promise.resolve(stream(deployments.watch(owner, id, signal), deploymentStream(words, requestId))),
    },
  ];
}

/** One that names another deployment than its path does is not carried out on either. */
function checkRepeated(named: string | null | undefined, id: string): void {
  if (named === undefined || named === null || named === id) return;
  throw refuse('deployed_model', 'deployed_model must be the one of the path', named);
}
