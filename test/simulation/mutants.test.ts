import { MUTANTS } from './mutants.ts';
import { testMutants } from './notice-mutants.ts';

const isLong = process.env['SIMULATION_DEPTH'] === 'long';

testMutants(MUTANTS.filter(({ isSlow = false }) => isLong || !isSlow));
