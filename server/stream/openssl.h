// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL, loaded when the first listener wants it. A server without TLS, and every
// worker process, would otherwise pay for both libraries at its start: 0.9 ms, and
// 0.5 MB of memory of its own.
//
// A file that calls OpenSSL includes this header and no other of OpenSSL's; a call by
// the usual name then goes through the table.
#ifndef FARCALL_SERVER_STREAM_OPENSSL_H_
#define FARCALL_SERVER_STREAM_OPENSSL_H_

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "farcall/base.h"

typedef struct fc_openssl_t {
#define FC_OPENSSL(name) __typeof__(&(name)) name;
#include "stream/openssl.def"
} fc_openssl_t;

extern fc_openssl_t fc_openssl;

// Loads the library, once: it stays until the program ends. Loop thread, before any
// stream of TLS. FC_CODE_NOT_ACCEPTABLE says what the system's loader says.
fc_status_t fc_openssl_load(fc_error_t *err) FC_MUST_CHECK;

#define ASN1_TIME_to_tm fc_openssl.ASN1_TIME_to_tm
#define BIO_clear_flags fc_openssl.BIO_clear_flags
#define BIO_free fc_openssl.BIO_free
#define BIO_get_data fc_openssl.BIO_get_data
#define BIO_get_new_index fc_openssl.BIO_get_new_index
#define BIO_meth_free fc_openssl.BIO_meth_free
#define BIO_meth_new fc_openssl.BIO_meth_new
#define BIO_meth_set_create fc_openssl.BIO_meth_set_create
#define BIO_meth_set_ctrl fc_openssl.BIO_meth_set_ctrl
#define BIO_meth_set_read fc_openssl.BIO_meth_set_read
#define BIO_meth_set_write fc_openssl.BIO_meth_set_write
#define BIO_new fc_openssl.BIO_new
#define BIO_new_bio_pair fc_openssl.BIO_new_bio_pair
#define BIO_new_mem_buf fc_openssl.BIO_new_mem_buf
#define BIO_set_data fc_openssl.BIO_set_data
#define BIO_set_flags fc_openssl.BIO_set_flags
#define BIO_set_init fc_openssl.BIO_set_init
#define ERR_clear_error fc_openssl.ERR_clear_error
#define ERR_peek_error fc_openssl.ERR_peek_error
#define ERR_peek_last_error fc_openssl.ERR_peek_last_error
#define ERR_reason_error_string fc_openssl.ERR_reason_error_string
#define EVP_PKEY_free fc_openssl.EVP_PKEY_free
#define OPENSSL_cleanse fc_openssl.OPENSSL_cleanse
#define PEM_read_bio_PrivateKey fc_openssl.PEM_read_bio_PrivateKey
#define PEM_read_bio_X509 fc_openssl.PEM_read_bio_X509
#define PEM_read_bio_X509_AUX fc_openssl.PEM_read_bio_X509_AUX
#define SSL_CTX_add_client_CA fc_openssl.SSL_CTX_add_client_CA
#define SSL_CTX_check_private_key fc_openssl.SSL_CTX_check_private_key
#define SSL_CTX_ctrl fc_openssl.SSL_CTX_ctrl
#define SSL_CTX_free fc_openssl.SSL_CTX_free
#define SSL_CTX_get0_certificate fc_openssl.SSL_CTX_get0_certificate
#define SSL_CTX_get0_privatekey fc_openssl.SSL_CTX_get0_privatekey
#define SSL_CTX_get_cert_store fc_openssl.SSL_CTX_get_cert_store
#define SSL_CTX_new fc_openssl.SSL_CTX_new
#define SSL_CTX_set_alpn_select_cb fc_openssl.SSL_CTX_set_alpn_select_cb
#define SSL_CTX_set_cipher_list fc_openssl.SSL_CTX_set_cipher_list
#define SSL_CTX_set_num_tickets fc_openssl.SSL_CTX_set_num_tickets
#define SSL_CTX_set_options fc_openssl.SSL_CTX_set_options
#define SSL_CTX_set_security_level fc_openssl.SSL_CTX_set_security_level
#define SSL_CTX_set_session_id_context fc_openssl.SSL_CTX_set_session_id_context
#define SSL_CTX_set_verify fc_openssl.SSL_CTX_set_verify
#define SSL_CTX_set_verify_depth fc_openssl.SSL_CTX_set_verify_depth
#define SSL_CTX_up_ref fc_openssl.SSL_CTX_up_ref
#define SSL_CTX_use_PrivateKey fc_openssl.SSL_CTX_use_PrivateKey
#define SSL_CTX_use_cert_and_key fc_openssl.SSL_CTX_use_cert_and_key
#define SSL_CTX_use_certificate fc_openssl.SSL_CTX_use_certificate
#define SSL_do_handshake fc_openssl.SSL_do_handshake
#define SSL_free fc_openssl.SSL_free
#define SSL_get_error fc_openssl.SSL_get_error
#define SSL_get_verify_result fc_openssl.SSL_get_verify_result
#define SSL_new fc_openssl.SSL_new
#define SSL_pending fc_openssl.SSL_pending
#define SSL_read_ex fc_openssl.SSL_read_ex
#define SSL_select_next_proto fc_openssl.SSL_select_next_proto
#define SSL_session_reused fc_openssl.SSL_session_reused
#define SSL_set_accept_state fc_openssl.SSL_set_accept_state
#define SSL_set_bio fc_openssl.SSL_set_bio
#define SSL_set_connect_state fc_openssl.SSL_set_connect_state
#define SSL_set_verify fc_openssl.SSL_set_verify
#define SSL_shutdown fc_openssl.SSL_shutdown
#define SSL_write_ex fc_openssl.SSL_write_ex
#define TLS_client_method fc_openssl.TLS_client_method
#define TLS_server_method fc_openssl.TLS_server_method
#define X509_STORE_add_cert fc_openssl.X509_STORE_add_cert
#define X509_free fc_openssl.X509_free
#define X509_get0_notAfter fc_openssl.X509_get0_notAfter
#define X509_get0_notBefore fc_openssl.X509_get0_notBefore
#define X509_verify_cert_error_string fc_openssl.X509_verify_cert_error_string

#endif  // FARCALL_SERVER_STREAM_OPENSSL_H_
