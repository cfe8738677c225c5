// Streams an answer with the AI SDK.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';

const parley = createOpenAICompatible({
  name: 'parley',
  apiKey: process.env.PARLEY_KEY,
  baseURL: `${process.env.PARLEY_URL ?? 'http://127.0.0.1:8000'}/v1`,
  includeUsage: true,
});
const { textStream } = streamText({ model: parley('svc-plus'), prompt: 'Name a color.', maxOutputTokens: 24 });
for await (const part of textStream) process.stdout.write(part);
console.log();
