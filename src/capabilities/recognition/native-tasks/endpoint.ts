import { ServiceError } from '../../../core/error.ts';
import type { Tasks } from '../tasks/task.ts';
import { createJsonReply } from '../../../protocols/endpoint.ts';
import type { Endpoint } from '../../../protocols/endpoint.ts';
import { encodeIgnoredHeader } from '../../../protocols/ignored-header.ts';
import { INTERFACES } from '../../../protocols/interfaces.ts';
import { parseBody } from '../../../protocols/parse.ts';
import { queryToObject } from '../../../protocols/fields/list-query.ts';
import { decodePage, getPageOffset } from '../../../protocols/native/page.ts';
import { encodeTask, encodeTaskList, encodeUnknownTask } from './encode.ts';
import { decodeTaskFilter, TaskListQuery, TASK_LIST_TEXTS } from './schema.ts';

export interface NativeTasksDeps {
  readonly tasks: Tasks;
}

const shared = { family: 'native', regions: INTERFACES.tasks.regions, onDisconnect: 'cancel' } as const;

/** Creates GET or POST /api/v1/tasks/{id}: an id that does not exist is a 200 with the status UNKNOWN. */
export function createTaskGetEndpoint({ tasks }: NativeTasksDeps, method: 'GET' | 'POST' = 'GET'): Endpoint {
  return {
    ...shared,
    operation: 'tasks.get',
    method,
    path: '/api/v1/tasks/:id',
    async handle({ params }, { owner, requestId }) {
      const id = params['id'] ?? '';
      const task = await tasks.find(owner, id);
      return createJsonReply(task ? encodeTask(task, requestId) : encodeUnknownTask(id, requestId));
    },
  };
}

/** Creates GET /api/v1/tasks (docs/wire/dashscope-native.md#tasks). */
export function createTaskListEndpoint({ tasks }: NativeTasksDeps): Endpoint {
  return {
    ...shared,
    operation: 'tasks.list',
    method: 'GET',
    path: '/api/v1/tasks',
    async handle({ query }, { owner, requestId }) {
      const { wire, unknown } = parseBody(TaskListQuery, queryToObject(query), { texts: TASK_LIST_TEXTS });
      const page = decodePage(wire);
      const filter = decodeTaskFilter(wire);
      const list = filter
        ? await tasks.list(owner, filter, { skip: getPageOffset(page), take: page.size })
        : { total: 0, tasks: [] };
      return createJsonReply(encodeTaskList(list, page, requestId), encodeIgnoredHeader(unknown));
    },
  };
}

/** Creates POST /api/v1/tasks/{id}/cancel. Only a pending task can be canceled; the error text is the vendor's. */
export function createTaskCancelEndpoint({ tasks }: NativeTasksDeps): Endpoint {
  return {
    ...shared,
    operation: 'tasks.cancel',
    method: 'POST',
    path: '/api/v1/tasks/:id/cancel',
    onDisconnect: 'finish',
    async handle({ params }, { owner, requestId }) {
      if (await tasks.cancel(owner, params['id'] ?? '')) return createJsonReply({ request_id: requestId });
      throw new ServiceError(
        'unsupported',
        'Failed to cancel the task, please confirm if the task is in PENDING status.',
      );
    },
  };
}
