import tseslint from 'typescript-eslint';

/**
 * Who may import whom. One direction: http, main -> services of `selection` and `pool` -> strategies -> scripts, key names.
 * A test looks for cycles; these rules keep the layers apart.
 */
const STRATEGY_CLASSES = {
  group: ['**/least-assigned.strategy.js', '**/least-concurrency.strategy.js'],
  message: 'Only selection.module.ts names strategy classes.',
};
const UPWARDS = {
  group: ['**/http/**', '**/*.service.js', '**/*.module.js', '**/main.js'],
  message: 'A strategy, and what lies below it, knows no service and no HTTP.',
};
const OUTWARDS = {
  group: ['**/http/**', '**/config/**', '**/main.js', '**/app.module.js'],
  message: 'Selection and the catalogue work without HTTP and without the environment.',
};
const LOWEST = ['src/selection/strategies/**', 'src/redis/**', 'src/errors/**', 'src/config/**'];
const layers = [
  { files: LOWEST, forbidden: [UPWARDS, STRATEGY_CLASSES] },
  {
    files: ['src/selection/**', 'src/pool/**'],
    ignores: [...LOWEST, 'src/selection/selection.module.ts'],
    forbidden: [OUTWARDS, STRATEGY_CLASSES],
  },
  { files: ['src/selection/selection.module.ts'], forbidden: [OUTWARDS] },
  { files: ['src/eligibility/**', 'src/dispatch/**'], forbidden: [OUTWARDS, STRATEGY_CLASSES] },
  { files: ['src/http/**', 'src/pool-setup/**', 'src/*.ts'], ignores: ['src/index.ts'], forbidden: [STRATEGY_CLASSES] },
];

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'data/**', 'coverage/**'] },
  ...tseslint.configs.strictTypeChecked.map((config) => ({ ...config, files: ['**/*.ts'] })),
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-extraneous-class': [
        'error',
        { allowWithDecorator: true, allowEmpty: false, allowStaticOnly: false },
      ],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/consistent-type-imports': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      'no-restricted-syntax': [
        'error',
        {
          selector: "ImportDeclaration[source.value='../index.js'], ImportDeclaration[source.value='./index.js']",
          message: 'Import files, not barrels.',
        },
        {
          selector: "CallExpression[callee.name='forwardRef']",
          message: 'No forwardRef: mend the direction of the dependency.',
        },
      ],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/http/**', 'src/main.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: [
            {
              name: '@nestjs/common',
              importNames: ['HttpException', 'BadRequestException', 'NotFoundException'],
              message: 'Errors have a code; http/ maps it to a status.',
            },
          ],
        },
      ],
    },
  },
  ...layers.map(({ files, ignores = [], forbidden }) => ({
    files,
    ignores,
    rules: { '@typescript-eslint/no-restricted-imports': ['error', { patterns: forbidden }] },
  })),
  {
    files: ['test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
);
