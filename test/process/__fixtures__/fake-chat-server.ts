// A chat server that accepts only requests with its key, except on /health. Arguments: the port, the name of the
// variable with the key, and further arguments, which every answer repeats.
import { createServer } from 'node:http';

const [port, keyVariable, ...echoedArgs] = process.argv.slice(2);
const key = process.env[keyVariable ?? ''];

const encodeEvent = (value: unknown): string => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;

createServer((request, response) => {
  request.resume();
  if (request.url === '/health') return void response.end();
  if (!key || request.headers.authorization !== `Bearer ${key}`) return void response.writeHead(401).end();
  if (request.url === '/v1/models') return void response.end('{"data":[{"id":"program"}]}');
  if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end();
  const content = `Arguments: ${echoedArgs.join(' ')}.`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(encodeEvent({ choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] }));
  response.end(encodeEvent({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }) + encodeEvent('[DONE]'));
}).listen(Number(port), '127.0.0.1');
