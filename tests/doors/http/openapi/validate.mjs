// Says whether a file is an OpenAPI document. Checks itself first: a validator that accepts anything proves nothing.
import { readFile } from "node:fs/promises";
import { Validator } from "@seriousme/openapi-schema-validator";

const document = JSON.parse(await readFile(process.argv[2], "utf8"));

const broken = structuredClone(document);
delete broken.info.title;
if ((await new Validator().validate(broken)).valid) {
    console.error("the validator accepts a document without a title");
    process.exit(1);
}

const validator = new Validator();
const result = await validator.validate(document);
if (!result.valid) {
    console.error(JSON.stringify(result.errors, null, 2));
    process.exit(1);
}
validator.resolveRefs(); // throws if a $ref leads nowhere
console.log(`valid OpenAPI ${validator.version}: ${Object.keys(document.paths).length} paths`);
