import { readFileSync } from 'node:fs';
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { openApiOf } from './operation.decorator.js';
import { problemSchema } from './response.schemas.js';

const PACKAGE = new URL('../../package.json', import.meta.url);

/** The version of Evenhand. */
export function readVersion(): string {
  return (JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }).version;
}

/** Serves the API document at `/openapi.json`, and a page to read and try it at `/docs`. */
export function serveApiDocument(app: INestApplication): void {
  SwaggerModule.setup('docs', app, createApiDocument(app), {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Evenhand API',
  });
}

/** The OpenAPI document of the routes that the application has. */
export function createApiDocument(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Evenhand')
    .setDescription(
      'Hands out the members of a shared pool evenly. Errors are problem documents (RFC 9457) with a stable `code`.',
    )
    .setVersion(readVersion())
    .addTag('selections', 'Which one do I use next?')
    .addTag('leases', 'For pools whose strategy counts work in progress')
    .addTag('pools', 'Pools and their settings')
    .addTag('members', 'The members of a pool')
    .addTag('service', 'For whoever runs it')
    .build();
  const document = SwaggerModule.createDocument(app, config, {
    operationIdFactory: (controller, method) => `${controller.replace(/Controller$/, '').toLowerCase()}.${method}`,
  });
  const schemas = { ...document.components?.schemas, Problem: openApiOf(problemSchema, 'output') };
  return { ...document, components: { ...document.components, schemas } };
}
