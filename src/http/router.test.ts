import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { createRouter } from './router.ts';
import { ROUTED_METHODS } from './routes.ts';
import type { HttpRoute } from './routes.ts';

const createRoute = (path: string, ...methods: readonly string[]): HttpRoute => ({
  methods,
  path,
  family: 'compatible',
  operation: `${methods.join()} ${path}`,
  isPublic: true,
  run: () => Promise.resolve(),
});

const createRequest = (method: string, url: string): IncomingMessage =>
  Object.assign(new IncomingMessage(new Socket()), { method, url });

test('finds the route of a method and path, with decoded parameters', () => {
  const findHandler = createRouter([
    createRoute('/files/:id', 'GET', 'HEAD'),
    createRoute('/files/:id', 'DELETE'),
    createRoute('/files/:id', ...ROUTED_METHODS.filter((method) => !['GET', 'HEAD', 'DELETE'].includes(method))),
    createRoute('/files/latest', ...ROUTED_METHODS),
  ]);
  const find = (method: string, url: string): readonly [string, string | undefined] => {
    const { handler, params } = findHandler(createRequest(method, url));
    return [handler.operation, params['id']];
  };
  assert.deepEqual(find('GET', '/files/a%2Fb'), ['GET,HEAD /files/:id', 'a/b']);
  assert.deepEqual(find('DELETE', '//files//x/?purge=1'), ['DELETE /files/:id', 'x']);
  assert.deepEqual(find('GET', 'http://host/files/latest'), [`${ROUTED_METHODS.join()} /files/latest`, undefined]);
  assert.deepEqual(find('GET', '/files/%zz'), ['unknown', undefined]);
  assert.deepEqual(find('GET', '/folders'), ['unknown', undefined]);
});

test('refuses a path without a route for every method', () => {
  const routes = [createRoute('/files/:id', ...ROUTED_METHODS), createRoute('/files/latest', 'GET')];
  assert.throws(() => createRouter(routes), /no route for \w+ \/files\/latest/);
});

test('refuses two routes for one method and path', () => {
  const routes = [createRoute('/files/:id', 'GET', 'HEAD'), createRoute('/files/:id', 'POST', 'GET')];
  assert.throws(() => createRouter(routes), /two routes for GET \/files\/:id/);
});
