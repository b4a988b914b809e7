BEGIN TRANSACTION;
CREATE TABLE svc_keys (
            id VARCHAR NOT NULL PRIMARY KEY,
            hash VARCHAR NOT NULL UNIQUE,
            kind VARCHAR NOT NULL,
            prefix VARCHAR NOT NULL,
            name VARCHAR NOT NULL,
            scopes VARCHAR NOT NULL,
            minted_by VARCHAR,
            created_at BIGINT NOT NULL,
            expires_at BIGINT,
            revoked_at BIGINT,
            consumed_at BIGINT,
            last_used_at BIGINT
        , max_streams BIGINT, max_waiting BIGINT, max_characters_per_minute BIGINT);
INSERT INTO "svc_keys" VALUES('0123456789ab','5f15d490997e1d3492ebe4f44fb54c1d0829795f6fcc3e6dcdc62fa6dc62b639','key','svc_rsNPEqxB','Golden','full',NULL,1700000000,NULL,NULL,NULL,1700000060,2,3,1000);
INSERT INTO "svc_keys" VALUES('0123456789ac','3a6c55668d925c83a153a30ed03c071111abb7afc454e661b522129bf6aed068','key','svc_uJZGQj6D','Revoked','full',NULL,1700000000,NULL,1700000005,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "svc_keys" VALUES('0123456789ad','4c6d56ead317474bf8a670cc8c099f7caf384fc517849215605a67ab08e166d6','ephemeral','svc_tmp_xVaQoyTm','','tts','0123456789ab',1700000000,4000000000,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "svc_keys" VALUES('0123456789ae','12a9105c971bff19ed7ea23dd2c20ca8e5ebe250b19430a8bbf5db43cd0925ce','single_use','svc_once_8P5ulfqH','','tts_websocket','static-1',1700000000,4000000000,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE svc_schema (version BIGINT NOT NULL);
INSERT INTO "svc_schema" VALUES(1);
INSERT INTO "svc_schema" VALUES(2);
CREATE INDEX svc_keys_expiry ON svc_keys (kind, expires_at);
COMMIT;
